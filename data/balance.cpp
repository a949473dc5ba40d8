#include "data/balance.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "gradwire/core/check.h"
#include "gradwire/core/error.h"

namespace gradwire::data {

Balance::Balance(std::size_t workers, std::size_t batch) : batch_(batch) {
  GW_CHECK(workers > 0);
  if (batch < workers) {
    throw Error("a batch of " + std::to_string(batch) + " samples cannot be balanced over " +
                std::to_string(workers) + " workers: each needs at least one sample");
  }
  shares_ = proportional(std::vector<double>(workers, 1));
}

bool Balance::take_times(std::span<const std::uint64_t> nanoseconds) {
  GW_CHECK(nanoseconds.size() == shares_.size());
  std::vector<double> speeds;
  double slowest = 0;
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    if (nanoseconds[i] == 0) return false;
    const auto time = static_cast<double>(nanoseconds[i]);
    speeds.push_back(shares_[i] / time);
    slowest = std::max(slowest, time);
  }
  std::vector<std::uint32_t> shares = proportional(speeds);
  double expected = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    expected = std::max(expected, shares[i] / speeds[i]);
  }
  if (expected > (1 - kGainLeast) * slowest) return false;
  shares_ = std::move(shares);
  return true;
}

void Balance::load(std::span<const std::uint32_t> shares) {
  const std::uint64_t sum = std::accumulate(shares.begin(), shares.end(), std::uint64_t{0});
  if (shares.size() != shares_.size() || sum != batch_ || std::ranges::count(shares, 0u) > 0) {
    throw Error("saved shares are of another batch, or of another number of workers");
  }
  shares_.assign(shares.begin(), shares.end());
}

// One sample for each worker; of the rest, the part of a speed rounded down, and what is then left
// over one by one to the largest remainders, the first worker's before others.
std::vector<std::uint32_t> Balance::proportional(std::span<const double> speeds) const {
  const double all = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  std::vector<std::uint32_t> shares;
  std::vector<double> remainders;
  std::size_t given = 0;
  for (const double speed : speeds) {
    const double wanted = std::max(static_cast<double>(batch_) * speed / all, 1.0);
    shares.push_back(static_cast<std::uint32_t>(wanted));
    remainders.push_back(wanted - std::floor(wanted));
    given += shares.back();
  }
  while (given < batch_) {
    const auto next = std::ranges::max_element(remainders);
    ++shares[static_cast<std::size_t>(next - remainders.begin())];
    *next -= 1;
    ++given;
  }
  while (given > batch_) {  // workers that were given one sample more than their part
    --*std::ranges::max_element(shares);
    --given;
  }
  return shares;
}

std::uint64_t StepTimes::median_nanoseconds() const {
  if (!Balance::is_due(seconds_.size())) return 0;
  std::vector<double> sorted = seconds_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  constexpr double kNanoseconds = 1e9;
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(*middle * kNanoseconds), 1);
}

}  // namespace gradwire::data
