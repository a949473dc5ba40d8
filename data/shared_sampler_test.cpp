#include "data/shared_sampler.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "gtest/gtest.h"

namespace gradwire::data {
namespace {

using Rows = std::vector<std::uint32_t>;

// The batch of a step, worker by worker.
std::vector<Rows> batch_of(std::uint64_t step, std::span<const std::uint32_t> shares,
                           std::size_t samples = 1003, std::size_t batch = 64) {
  std::vector<Rows> parts;
  for (std::size_t worker = 0; worker < shares.size(); ++worker) {
    SharedSampler sampler(samples, batch, 1, worker, shares.size());
    sampler.set_shares(shares);
    const auto part = sampler.at(step);
    parts.emplace_back(part.begin(), part.end());
  }
  return parts;
}

Rows joined(const std::vector<Rows>& parts) {
  Rows rows;
  for (const Rows& part : parts) rows.insert(rows.end(), part.begin(), part.end());
  return rows;
}

TEST(SharedSampler, TheBatchOfAStepDoesNotDependOnTheShares) {
  const std::array<std::uint32_t, 4> even = {1, 1, 1, 1};
  const std::array<std::uint32_t, 4> uneven = {20, 20, 20, 4};
  for (std::uint64_t step = 0; step < 40; ++step) {
    EXPECT_EQ(joined(batch_of(step, even)), joined(batch_of(step, uneven)));
  }
}

TEST(SharedSampler, SharesDecideHowManySamplesAWorkerHas) {
  const std::array<std::uint32_t, 4> shares = {20, 20, 20, 4};
  const auto parts = batch_of(3, shares, 6400, 64);
  EXPECT_EQ(parts[0].size(), 20u);
  EXPECT_EQ(parts[2].size(), 20u);
  EXPECT_EQ(parts[3].size(), 4u);
}

TEST(SharedSampler, ShowsEverySampleOnceAnEpochWhileSharesChange) {
  constexpr std::uint64_t kSteps = (1003 + 63) / 64;
  Rows seen;
  for (std::uint64_t step = kSteps; step < 2 * kSteps; ++step) {
    const std::array<std::uint32_t, 3> shares = {static_cast<std::uint32_t>(step), 5, 11};
    const Rows batch = joined(batch_of(step, shares));
    seen.insert(seen.end(), batch.begin(), batch.end());
  }
  std::ranges::sort(seen);
  Rows all(1003);
  std::iota(all.begin(), all.end(), 0u);
  EXPECT_EQ(seen, all);
}

TEST(SharedSampler, WeightsAreSharesOfSamplesAndAverageToOne) {
  const std::array<std::uint32_t, 4> shares = {20, 20, 20, 4};
  const auto parts = batch_of(7, shares);
  double sum = 0;
  for (std::size_t worker = 0; worker < 4; ++worker) {
    SharedSampler sampler(1003, 64, 1, worker, 4);
    sampler.set_shares(shares);
    const auto samples = static_cast<double>(parts[worker].size());
    EXPECT_FLOAT_EQ(sampler.weight(7),
                    static_cast<float>(4 * samples / static_cast<double>(joined(parts).size())));
    sum += sampler.weight(7);
  }
  EXPECT_NEAR(sum / 4, 1, 1e-6);
}

}  // namespace
}  // namespace gradwire::data
