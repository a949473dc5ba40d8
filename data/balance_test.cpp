#include "data/balance.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "gradwire/core/error.h"
#include "gtest/gtest.h"

namespace gradwire::data {
namespace {

using Shares = std::vector<std::uint32_t>;
using Times = std::vector<std::uint64_t>;

Shares shares_of(const Balance& balance) {
  return {balance.shares().begin(), balance.shares().end()};
}

// The times of workers that need so long for a step, and for each sample.
Times times(const Balance& balance, std::uint64_t fixed, const Times& per_sample) {
  Times result;
  for (std::size_t i = 0; i < per_sample.size(); ++i) {
    result.push_back(per_sample[i] * (fixed + balance.shares()[i]));
  }
  return result;
}

TEST(Balance, BeginsEvenly) {
  EXPECT_EQ(shares_of(Balance(4, 64)), (Shares{16, 16, 16, 16}));
  EXPECT_EQ(shares_of(Balance(3, 64)), (Shares{22, 21, 21}));
}

TEST(Balance, ASlowWorkerGetsFewerSamplesInOneChange) {
  Balance balance(4, 260);
  EXPECT_TRUE(balance.take_times(times(balance, 0, {1000, 1000, 1000, 4000})));
  EXPECT_EQ(shares_of(balance), (Shares{80, 80, 80, 20}));
  EXPECT_FALSE(balance.take_times(times(balance, 0, {1000, 1000, 1000, 4000})));
}

TEST(Balance, ApproachesEqualTimesAlsoIfPartOfTheTimeIsFixed) {
  Balance balance(4, 1000);
  const Times speeds = {1000, 1000, 1000, 4000};
  for (int i = 0; i < 20; ++i) balance.take_times(times(balance, 50, speeds));
  const Times last = times(balance, 50, speeds);
  const auto [least, most] = std::ranges::minmax(last);
  EXPECT_LT(static_cast<double>(most), 1.15 * static_cast<double>(least));
}

TEST(Balance, SmallDifferencesChangeNothing) {
  Balance balance(4, 256);
  EXPECT_FALSE(balance.take_times(times(balance, 0, {1000, 1040, 960, 1080})));
  EXPECT_EQ(shares_of(balance), (Shares{64, 64, 64, 64}));
}

TEST(Balance, WaitsUntilAllWorkersHaveMeasured) {
  Balance balance(2, 64);
  EXPECT_FALSE(balance.take_times(Times{1000, 0}));
  StepTimes steps;
  for (std::uint64_t i = 0; i + 1 < Balance::kStepsBetween; ++i) steps.add(0.5);
  EXPECT_EQ(steps.median_nanoseconds(), 0u);
  steps.add(1000);  // one slow step
  EXPECT_EQ(steps.median_nanoseconds(), 500'000'000u);
}

TEST(Balance, EveryWorkerKeepsASampleAndTheBatchItsSize) {
  Balance balance(5, 20);
  EXPECT_TRUE(balance.take_times(Times{1, 1, 1'000'000, 1'000'000, 1'000'000'000}));
  const Shares shares = shares_of(balance);
  EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), 0u), 20u);
  for (const std::uint32_t share : shares) EXPECT_GE(share, 1u);
  EXPECT_THROW(Balance(5, 4), Error);
}

TEST(Balance, LoadsWhatItHadAndRefusesOtherShares) {
  Balance balance(3, 60);
  balance.load(Shares{40, 10, 10});
  EXPECT_EQ(shares_of(balance), (Shares{40, 10, 10}));
  EXPECT_THROW(balance.load(Shares{40, 20}), Error);
  EXPECT_THROW(balance.load(Shares{40, 20, 10}), Error);
  EXPECT_THROW(balance.load(Shares{60, 0, 0}), Error);
}

}  // namespace
}  // namespace gradwire::data
