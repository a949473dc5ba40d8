#include "gradwire/method/lgc/adam.h"

#include <algorithm>
#include <cmath>

#include "gradwire/core/check.h"
#include "gradwire/kernel/adam.h"

namespace gradwire {
namespace {

constexpr float kMeanDecay = 0.9F;
constexpr float kSquareDecay = 0.99F;
constexpr float kEpsilon = 1e-8F;
constexpr double kPace = 50;  // moves after which steps begin to become shorter

// By products, which are the same on every machine.
double power(double base, std::uint64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent /= 2, base *= base) result *= exponent % 2 == 1 ? base : 1;
  return result;
}

}  // namespace

Adam::Adam(std::size_t weights, double learning_rate)
    : learning_rate_(learning_rate), means_(weights), squares_(weights) {}

void Adam::move(std::span<float> weights, std::span<const float> gradients) {
  GW_CHECK(weights.size() == means_.size() && gradients.size() == means_.size());
  ++moves_;
  const double mean_bias = 1 - power(double{kMeanDecay}, moves_);
  const double square_bias = 1 - power(double{kSquareDecay}, moves_);
  const double rate_now = learning_rate_ / std::sqrt(1 + static_cast<double>(moves_) / kPace);
  const auto rate = static_cast<float>(rate_now / mean_bias);
  const auto unbias = static_cast<float>(1 / std::sqrt(square_bias));
  kernel::adam_step({.mean_decay = kMeanDecay,
                     .square_decay = kSquareDecay,
                     .rate = rate,
                     .unbias = unbias,
                     .epsilon = kEpsilon},
                    gradients, means_, squares_, weights);
}

void Adam::save(std::vector<float>& saved) const {
  saved.insert(saved.end(), means_.begin(), means_.end());
  saved.insert(saved.end(), squares_.begin(), squares_.end());
  saved.push_back(static_cast<float>(moves_));
}

void Adam::load(std::span<const float>& saved) {
  GW_CHECK(saved.size() >= 2 * means_.size() + 1);
  std::ranges::copy(saved.first(means_.size()), means_.begin());
  std::ranges::copy(saved.subspan(means_.size(), squares_.size()), squares_.begin());
  moves_ = static_cast<std::uint64_t>(std::max(0.0F, saved[2 * means_.size()]));
  saved = saved.subspan(2 * means_.size() + 1);
}

}  // namespace gradwire
