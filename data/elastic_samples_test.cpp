#include "data/elastic_samples.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "data/draws.h"
#include "gtest/gtest.h"

namespace gradwire::data {
namespace {

using Rows = std::vector<std::uint32_t>;
using Lost = std::vector<std::size_t>;

Rows copy(std::span<const std::uint32_t> rows) { return {rows.begin(), rows.end()}; }

// The whole batch of the present step, put together from its shares.
Rows batch_of(ElasticSamples& samples, std::size_t shares) {
  Rows batch;
  for (std::size_t share = 0; share < shares; ++share) {
    const auto part = samples.share(share, shares);
    batch.insert(batch.end(), part.begin(), part.end());
  }
  return batch;
}

Rows all_of(std::size_t samples) {
  Rows all(samples);
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

TEST(ElasticSamples, BatchesDoNotDependOnTheNumberOfMembers) {
  ElasticSamples alone(1003, 64, 7), together(1003, 64, 7);
  Draws draws({.seed = 1});
  for (int step = 0; step < 100; ++step) {
    const std::size_t shares = 1 + draws.below(9);
    EXPECT_EQ(copy(alone.share(0, 1)), batch_of(together, shares));
    alone.finish_step(1, {});
    together.finish_step(shares, {});
  }
  EXPECT_EQ(alone.save(), together.save());
}

TEST(ElasticSamples, SharesDifferByOneSampleAtMost) {
  for (const std::size_t shares : {1u, 3u, 7u, 64u, 100u}) {
    ElasticSamples samples(1003, 64, 1);
    std::size_t least = 1003, most = 0;
    for (std::size_t share = 0; share < shares; ++share) {
      least = std::min(least, samples.share(share, shares).size());
      most = std::max(most, samples.share(share, shares).size());
    }
    EXPECT_LE(most, least + 1);
  }
}

TEST(ElasticSamples, StepsPerEpochWithoutLosses) {
  ElasticSamples samples(1003, 64, 1);
  EXPECT_EQ(samples.steps_per_epoch(), 16u);
  for (int step = 0; step < 16; ++step) {
    EXPECT_EQ(samples.epoch(), 0u);
    EXPECT_EQ(samples.batch_size(), step < 15 ? 64u : 1003u - 15 * 64);
    samples.finish_step(3, {});
  }
  EXPECT_EQ(samples.epoch(), 1u);
}

TEST(ElasticSamples, AnotherEpochOrSeedIsAnotherOrder) {
  ElasticSamples samples(64, 64, 1);
  const Rows first = copy(samples.share(0, 1));
  samples.finish_step(1, {});
  EXPECT_NE(copy(samples.share(0, 1)), first);
  EXPECT_NE(copy(ElasticSamples(64, 64, 2).share(0, 1)), first);
}

// A lost share is the last batch of the epoch, and no sooner.
TEST(ElasticSamples, LostShareIsTakenAtTheEndOfTheEpoch) {
  ElasticSamples samples(100, 20, 1);
  const Rows lost = copy(samples.share(1, 4));
  samples.finish_step(4, Lost{1});
  for (int step = 1; step < 5; ++step) {
    EXPECT_EQ(samples.epoch(), 0u);
    samples.finish_step(3, {});
  }
  EXPECT_EQ(samples.epoch(), 0u);
  EXPECT_EQ(batch_of(samples, 2), lost);
  samples.finish_step(2, {});
  EXPECT_EQ(samples.epoch(), 1u);
}

// Whatever is lost, each sample is learned from once in each epoch: 300 sequences of losses, with
// members who come and go, steps in which all but one are lost, and returned shares that are lost
// again.
TEST(ElasticSamples, EachSampleIsUsedOnceAnEpochForAnySequenceOfLosses) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Draws draws({.seed = seed});
    const std::size_t size = 1 + draws.below(300);
    const std::size_t batch = 1 + draws.below(60);
    ElasticSamples samples(size, batch, seed);
    ElasticSamples other(size, batch, seed);
    std::map<std::uint64_t, Rows> used, positions;
    while (samples.epoch() < 3) {
      const std::size_t shares = 1 + draws.below(12);
      const std::uint64_t epoch = samples.epoch();
      Lost lost;
      for (std::size_t share = 0; share < shares; ++share) {
        if (lost.size() + 1 < shares && draws.uniform() < 0.3) {
          lost.push_back(share);
          continue;
        }
        const auto part = samples.share(share, shares);
        used[epoch].insert(used[epoch].end(), part.begin(), part.end());
      }
      const ElasticSamples::Used done = samples.finish_step(shares, lost);
      EXPECT_EQ(done.epoch, epoch);
      for (const PositionRange& range : done.positions) {
        for (std::uint32_t at = range.first; at < range.end; ++at) positions[epoch].push_back(at);
      }
      other.finish_step(shares, lost);
      ASSERT_EQ(samples.save(), other.save());
    }
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      std::ranges::sort(used[epoch]);
      std::ranges::sort(positions[epoch]);
      ASSERT_EQ(used[epoch], all_of(size)) << "seed " << seed << ", epoch " << epoch;
      ASSERT_EQ(positions[epoch], all_of(size)) << "seed " << seed << ", epoch " << epoch;
    }
  }
}

TEST(ElasticSamples, StateIsSmallAndBringsANewcomerToTheSameStep) {
  ElasticSamples samples(100'000, 100, 1);
  for (int step = 0; step < 1500; ++step) {
    samples.finish_step(7, step % 400 == 399 ? Lost{3, 5} : Lost());
  }
  const std::vector<std::byte> state = samples.save();
  EXPECT_LE(state.size(), 16 + 8 * 3u);
  ElasticSamples newcomer(100'000, 100, 1);
  ASSERT_TRUE(newcomer.load(state));
  for (int step = 0; step < 600; ++step) {
    ASSERT_EQ(batch_of(newcomer, 3), batch_of(samples, 3));
    samples.finish_step(3, {});
    newcomer.finish_step(3, {});
  }
}

TEST(ElasticSamples, StateThatDoesNotFitIsRefused) {
  ElasticSamples large(1000, 10, 1), small(100, 10, 1);
  const std::vector<std::byte> before = small.save();
  const std::vector<std::byte> foreign = large.save();
  const auto result = small.load(foreign);
  ASSERT_FALSE(result);
  EXPECT_STREQ(result.error().what, "a range of samples does not fit to the data");
  for (std::size_t size = 0; size < before.size(); ++size) {
    EXPECT_FALSE(small.load(std::span(before).first(size)));
  }
  std::vector<std::byte> longer = before;
  longer.push_back({});
  EXPECT_FALSE(small.load(longer));
  EXPECT_EQ(small.save(), before);
}

}  // namespace
}  // namespace gradwire::data
