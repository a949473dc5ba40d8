#include "gradwire/core/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace gradwire {
namespace {

// Every bound below is for a normal variable at 6 standard deviations: about 2e-9 a side, and fewer
// than 10,000 comparisons are made, so a sound generator fails with a probability below 1e-4. The
// seeds are fixed, so that it fails always or never.
constexpr double kSigmas = 6;

constexpr std::uint32_t kNumbers = 1 << 20;

// Streams as neighbours get them: names that differ in one field, by one.
std::vector<RandomStream> neighbouring_streams() {
  const Rng base{.seed = 42, .step = 7, .tensor = Rng::tensor_id("layer1.weight"), .rank = 3};
  std::vector<Rng> names(8, base);
  names[1].seed = 43;
  names[2].step = 8;
  names[3].tensor = Rng::tensor_id("layer2.weight");
  names[4].rank = 4;
  names[5].purpose = Purpose::downlink;
  names[6] = base.shared();
  std::vector<RandomStream> streams;
  for (const Rng& name : names) streams.push_back(name.stream(1, 0));
  streams[7] = base.stream(2, 0);
  // And streams whose keys are as poor as keys can be.
  streams.push_back({0, 1});
  streams.push_back({1, 1});
  streams.push_back({0x80000000u, 3});
  return streams;
}

double unit(std::uint32_t number) { return number * 0x1p-32 - 0.5; }

// Chi-square of counts that should be equal, as a normal variable.
double chi_square_deviation(const std::vector<double>& counts) {
  double total = 0;
  for (const double count : counts) total += count;
  const double expected = total / static_cast<double>(counts.size());
  double chi = 0;
  for (const double count : counts) chi += (count - expected) * (count - expected) / expected;
  const double degrees = static_cast<double>(counts.size()) - 1;
  return (chi - degrees) / std::sqrt(2 * degrees);
}

TEST(Random, NumbersAreUniform) {
  for (const RandomStream& stream : neighbouring_streams()) {
    std::vector<double> counts(4096);
    for (std::uint32_t j = 0; j < kNumbers; ++j) ++counts[stream.at(j) >> 20];
    // Too even would be as bad as too uneven.
    EXPECT_LT(std::fabs(chi_square_deviation(counts)), kSigmas);
  }
}

TEST(Random, EveryHighBitIsFair) {
  for (const RandomStream& stream : neighbouring_streams()) {
    for (unsigned bit = 8; bit < 32; ++bit) {
      double ones = 0;
      for (std::uint32_t j = 0; j < kNumbers; ++j) ones += stream.at(j) >> bit & 1;
      const double deviation = (ones - kNumbers / 2.0) / (std::sqrt(double{kNumbers}) / 2);
      EXPECT_LT(std::fabs(deviation), kSigmas) << "bit " << bit;
    }
  }
}

TEST(Random, NeighboursInAStreamAreIndependent) {
  for (const RandomStream& stream : neighbouring_streams()) {
    for (const std::uint32_t lag : {1u, 2u, 3u, 4u, 8u, 16u, 64u, 512u, 8192u, 65536u}) {
      double correlation = 0;
      std::vector<double> pairs(32 * 32);
      for (std::uint32_t j = 0; j < kNumbers; ++j) {
        const std::uint32_t a = stream.at(j), b = stream.at(j + lag);
        correlation += 12 * unit(a) * unit(b);
        ++pairs[(a >> 27) * 32 + (b >> 27)];
      }
      EXPECT_LT(std::fabs(correlation) / std::sqrt(double{kNumbers}), kSigmas) << "lag " << lag;
      EXPECT_LT(chi_square_deviation(pairs), kSigmas) << "lag " << lag;
    }
  }
}

TEST(Random, TriplesFillTheCube) {
  for (const RandomStream& stream : neighbouring_streams()) {
    std::vector<double> cells(16 * 16 * 16);
    for (std::uint32_t j = 0; j < kNumbers; ++j) {
      const std::uint32_t a = stream.at(j) >> 28, b = stream.at(j + 1) >> 28;
      ++cells[(a * 16 + b) * 16 + (stream.at(j + 2) >> 28)];
    }
    EXPECT_LT(chi_square_deviation(cells), kSigmas);
  }
}

// A counter that shines through a mixer shows in differences of differences.
TEST(Random, SecondDifferencesAreUniform) {
  for (const RandomStream& stream : neighbouring_streams()) {
    for (const std::uint32_t lag : {1u, 2u, 16u, 512u, 65536u}) {
      std::vector<double> counts(4096);
      for (std::uint32_t j = 0; j < kNumbers; ++j) {
        ++counts[(stream.at(j) - 2 * stream.at(j + lag) + stream.at(j + 2 * lag)) >> 20];
      }
      EXPECT_LT(std::fabs(chi_square_deviation(counts)), kSigmas) << "lag " << lag;
    }
  }
}

TEST(Random, StreamsOfNeighbouringNamesAreIndependent) {
  const auto streams = neighbouring_streams();
  for (std::size_t a = 0; a < streams.size(); ++a) {
    for (std::size_t b = a + 1; b < streams.size(); ++b) {
      for (const std::uint32_t shift : {0u, 1u}) {
        if (streams[a].step == streams[b].step) continue;  // the poor keys: one is a shift away
        double correlation = 0;
        std::vector<double> pairs(32 * 32);
        for (std::uint32_t j = 0; j < kNumbers / 4; ++j) {
          const std::uint32_t x = streams[a].at(j), y = streams[b].at(j + shift);
          correlation += 12 * unit(x) * unit(y);
          ++pairs[(x >> 27) * 32 + (y >> 27)];
        }
        EXPECT_LT(std::fabs(correlation) / std::sqrt(kNumbers / 4.0), kSigmas) << a << " and " << b;
        EXPECT_LT(chi_square_deviation(pairs), kSigmas) << a << " and " << b;
      }
    }
  }
}

TEST(Random, RunsUpAndDownAreAsLongAsChanceMakesThem) {
  for (const RandomStream& stream : neighbouring_streams()) {
    double runs = 1;
    for (std::uint32_t j = 2; j < kNumbers; ++j) {
      const bool up_before = stream.at(j - 1) > stream.at(j - 2);
      runs += up_before != (stream.at(j) > stream.at(j - 1));
    }
    const double n = kNumbers;
    const double deviation = (runs - (2 * n - 1) / 3) / std::sqrt((16 * n - 29) / 90);
    EXPECT_LT(std::fabs(deviation), kSigmas);
  }
}

TEST(Random, NoNumberComesTwiceInAStream) {
  const RandomStream stream = Rng{.seed = 5}.stream(0, 0);
  std::vector<std::uint32_t> numbers(kNumbers);
  for (std::uint32_t j = 0; j < kNumbers; ++j) numbers[j] = stream.at(j);
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(std::adjacent_find(numbers.begin(), numbers.end()), numbers.end());
}

TEST(Random, ElementsHaveTheSameNumberFromWhereverTheyAreCounted) {
  const Rng rng{.seed = 9, .step = 2};
  const RandomStream from_0 = rng.stream(1, 0);
  const RandomStream from_1000 = rng.stream(1, 1000);
  for (std::uint32_t j = 0; j < 100; ++j) {
    EXPECT_EQ(from_0.at(1000 + j), from_1000.at(j));
    EXPECT_EQ(from_0.advanced(1000).at(j), from_1000.at(j));
  }
}

TEST(Random, NumbersNeverChangeFromVersionToVersion) {
  const Rng rng{.seed = 1, .step = 2, .tensor = Rng::tensor_id("w"), .rank = 3};
  const RandomStream stream = rng.stream(0, 0);
  EXPECT_EQ(stream.at(0), 1204852911u);
  EXPECT_EQ(stream.at(1), 3331164886u);
  EXPECT_EQ(stream.at(1000000), 3617353080u);
}

}  // namespace
}  // namespace gradwire
