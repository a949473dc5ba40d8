#include "gradwire/plan/price_steps.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace gradwire::plan {
namespace {

constexpr double kExactMax = 0x1p53;  // whole numbers below are doubles, and so are their sums

}  // namespace

double PriceSteps::below(double price) const {
  if (step == 0 || !(price < kExactMax)) {
    return std::nextafter(price, -std::numeric_limits<double>::infinity());
  }
  const std::int64_t above_base = static_cast<std::int64_t>(std::ceil(price)) - 1 - base;
  const std::int64_t rest = (above_base % step + step) % step;
  return static_cast<double>(base + above_base - rest);
}

PriceSteps price_steps(const std::vector<Items>& layers) {
  PriceSteps steps;
  double sum = 0;
  for (const Items& items : layers) {
    for (const Item& item : items) {
      sum += item.price;
      if (!(sum < kExactMax) || item.price != std::floor(item.price)) return {};
      const double difference = item.price - items.front().price;
      steps.step = std::gcd(steps.step, static_cast<std::int64_t>(difference));
    }
    if (!items.empty()) steps.base += static_cast<std::int64_t>(items.front().price);
  }
  return steps;
}

}  // namespace gradwire::plan
