#include "gradwire/collective/arrivals.h"

#include <algorithm>
#include <cmath>

#include "gradwire/core/check.h"

namespace gradwire {
namespace {

// 75% of 4 are 3, and not 4 because of a rounding error.
std::size_t ranks_needed(std::size_t ranks, double share) {
  constexpr double kTolerance = 1e-9;
  const double needed = std::ceil(share * static_cast<double>(ranks) - kTolerance);
  return std::clamp<std::size_t>(static_cast<std::size_t>(needed), 1, ranks);
}

}  // namespace

Arrivals::Arrivals(std::size_t ranks, double share) : needed_(ranks_needed(ranks, share)) {
  GW_CHECK(ranks > 0 && share > 0 && share <= 1);
}

void Arrivals::deliver(Time now) {
  ++delivered_;
  if (delivered_ == (needed_ + 1) / 2) middle_ = now;
  if (delivered_ == needed_) reached_ = now;
}

std::optional<Arrivals::Time> Arrivals::closes_at() const {
  const auto usual = usual_spread();
  if (delivered_ < needed_ || !usual) return std::nullopt;
  return reached_ + kUsualSpreads * *usual;
}

void Arrivals::close() {
  if (delivered_ >= needed_) spreads_[steps_++ % kStepsKept] = reached_ - middle_;
  delivered_ = 0;
}

std::optional<std::chrono::nanoseconds> Arrivals::usual_spread() const {
  if (steps_ < kStepsMin) return std::nullopt;
  auto sorted = spreads_;
  const auto known = std::span(sorted).first(std::min(steps_, kStepsKept));
  const auto middle = known.begin() + static_cast<std::ptrdiff_t>(known.size() / 2);
  std::ranges::nth_element(known, middle);
  return *middle;
}

}  // namespace gradwire
