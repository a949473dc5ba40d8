#include "data/sampler.h"

#include <algorithm>
#include <numeric>

#include "gtest/gtest.h"

namespace gradwire::data {
namespace {

using Rows = std::vector<std::uint32_t>;

std::vector<Shard> shards_of(std::string_view split, std::size_t samples, std::size_t workers) {
  std::vector<double> labels(samples);
  for (std::size_t i = 0; i < samples; ++i) labels[i] = static_cast<double>(i % 10);
  return split_rows(parse_split(split), labels, workers, 1);
}

Rows copy(std::span<const std::uint32_t> rows) { return {rows.begin(), rows.end()}; }

// All samples of a rank in an epoch, in the order they come.
Rows epoch_of(const std::vector<Shard>& shards, std::size_t rank, std::uint64_t epoch,
              std::uint64_t seed = 1) {
  Sampler sampler(shards, 8, seed, rank);
  Rows rows;
  for (std::uint64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
    const auto batch = sampler.at(epoch * sampler.steps_per_epoch() + step);
    rows.insert(rows.end(), batch.begin(), batch.end());
  }
  return rows;
}

TEST(Sampler, ShowsEverySampleOnceAnEpoch) {
  for (const char* split : {"iid", "label", "dirichlet(0.05)"}) {
    for (const std::uint64_t epoch : {0, 1, 1000000}) {
      const auto shards = shards_of(split, 1003, 7);
      Rows seen;
      for (std::size_t rank = 0; rank < shards.size(); ++rank) {
        const Rows rows = epoch_of(shards, rank, epoch);
        seen.insert(seen.end(), rows.begin(), rows.end());
      }
      std::ranges::sort(seen);
      Rows all(1003);
      std::iota(all.begin(), all.end(), 0u);
      EXPECT_EQ(seen, all) << split;
    }
  }
}

TEST(Sampler, UnevenAndEmptyShardsHaveEqualSteps) {
  auto shards = shards_of("dirichlet(0.05)", 1003, 7);
  shards.emplace_back();  // a server that gives nothing
  for (std::size_t rank = 0; rank < shards.size(); ++rank) {
    Sampler sampler(shards, 8, 1, rank);
    EXPECT_EQ(sampler.steps_per_epoch(), (1003 + 63) / 64u);
    for (std::uint64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
      const std::size_t even = shards[rank].rows.size() / sampler.steps_per_epoch();
      EXPECT_GE(sampler.at(step).size(), even);
      EXPECT_LE(sampler.at(step).size(), even + 1);
    }
  }
}

TEST(Sampler, EvenBatchesAreNoLargerThanAsked) {
  const auto shards = shards_of("iid", 60000, 4);
  Sampler sampler(shards, 32, 1, 3);
  EXPECT_EQ(sampler.steps_per_epoch(), 469u);
  for (std::uint64_t step = 0; step < 469; ++step) EXPECT_LE(sampler.at(step).size(), 32u);
}

TEST(Sampler, WeightsAverageToOneAtEveryStep) {
  for (const char* split : {"iid", "dirichlet(0.05)"}) {
    auto shards = shards_of(split, 203, 5);
    shards.emplace_back();
    for (std::uint64_t step = 0; step < 200; ++step) {
      double sum = 0;
      for (std::size_t rank = 0; rank < shards.size(); ++rank) {
        Sampler sampler(shards, 1, 1, rank);
        const float weight = sampler.weight(step);
        EXPECT_EQ(weight == 0, sampler.at(step).empty());
        sum += weight;
      }
      EXPECT_NEAR(sum, static_cast<double>(shards.size()), 1e-5);
    }
  }
}

TEST(Sampler, IsAFunctionOfTheStep) {
  const auto shards = shards_of("dirichlet(0.5)", 1003, 3);
  Sampler forward(shards, 8, 1, 1);
  Sampler jumping(shards, 8, 1, 1);
  for (std::uint64_t step = 0; step < 200; ++step) {
    const Rows batch = copy(forward.at(step));
    jumping.at(step * 7919 % 1000);
    EXPECT_EQ(copy(jumping.at(step)), batch);
  }
  const Rows first = copy(Sampler(shards, 8, 1, 1).at(0));
  EXPECT_EQ(copy(forward.at(0)), first);
}

TEST(Sampler, AnotherSeedOrEpochIsAnotherOrder) {
  const auto shards = shards_of("iid", 1003, 3);
  const Rows rows = epoch_of(shards, 1, 0);
  EXPECT_NE(rows, epoch_of(shards, 1, 1));
  EXPECT_NE(rows, epoch_of(shards, 1, 0, 2));
}

TEST(Sampler, AnotherRankShufflesInAnotherWay) {
  auto shards = shards_of("iid", 1003, 2);
  shards[1] = shards[0];
  EXPECT_NE(epoch_of(shards, 0, 0), epoch_of(shards, 1, 0));
}

TEST(SamplerDeathTest, NothingToShowIsABug) {
  const std::vector<Shard> empty(3);
  EXPECT_DEATH(Sampler(empty, 8, 1, 0), "samples > 0");
  const auto shards = shards_of("iid", 100, 2);
  EXPECT_DEATH(Sampler(shards, 0, 1, 0), "batch > 0");
  EXPECT_DEATH(Sampler(shards, 8, 1, 2), "rank < shards.size()");
}

}  // namespace
}  // namespace gradwire::data
