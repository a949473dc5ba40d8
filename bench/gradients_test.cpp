#include "bench/gradients.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace gradwire::bench {
namespace {

using Fill = void (*)(const Rng&, std::span<float>);

std::vector<float> made(Fill fill, std::size_t elements, std::uint64_t seed = 1) {
  std::vector<float> values(elements);
  fill({.seed = seed, .purpose = Purpose::data}, values);
  return values;
}

double mean_power(std::span<const float> values, int power) {
  double sum = 0;
  for (const float value : values) sum += std::pow(double{value}, power);
  return sum / static_cast<double>(values.size());
}

double kurtosis(std::span<const float> values) {
  return mean_power(values, 4) / std::pow(mean_power(values, 2), 2);
}

TEST(Gaussian, MomentsAreThoseOfANormalVariable) {
  constexpr std::size_t kElements = 1 << 20;
  const std::vector<float> values = made(fill_gaussian, kElements);
  // Six standard errors: a right generator fails once in 10^9 seeds, and this seed is fixed.
  const double error = 6 / std::sqrt(double{kElements});
  EXPECT_NEAR(mean_power(values, 1), 0, error);
  EXPECT_NEAR(mean_power(values, 2), 1, error * std::sqrt(2.0));
  EXPECT_NEAR(mean_power(values, 3), 0, error * std::sqrt(15.0));
  EXPECT_NEAR(mean_power(values, 4), 3, error * std::sqrt(96.0));
}

TEST(Gaussian, NeighboursAreUncorrelated) {
  constexpr std::size_t kElements = 1 << 20;
  const std::vector<float> values = made(fill_gaussian, kElements);
  for (const std::size_t distance : {1, 2, 3, 512}) {
    double sum = 0;
    for (std::size_t i = distance; i < kElements; ++i) {
      sum += double{values[i]} * double{values[i - distance]};
    }
    EXPECT_NEAR(sum / double{kElements}, 0, 6 / std::sqrt(double{kElements})) << distance;
  }
}

TEST(Gradients, AreAFunctionOfTheSeed) {
  for (const Fill fill : {fill_gaussian, fill_gradients}) {
    EXPECT_EQ(made(fill, 1000, 1), made(fill, 1000, 1));
    EXPECT_NE(made(fill, 1000, 1), made(fill, 1000, 2));
  }
}

TEST(Gradients, ShorterTensorIsTheBeginningOfALongerOne) {
  for (const Fill fill : {fill_gaussian, fill_gradients}) {
    const std::vector<float> values = made(fill, 100'001);
    for (const std::size_t elements : {0, 1, 2, 1023, 99'999}) {
      EXPECT_TRUE(std::ranges::equal(made(fill, elements), std::span(values).first(elements)));
    }
  }
}

TEST(Gradients, AreFinite) {
  for (const float value : made(fill_gradients, 1 << 20)) ASSERT_TRUE(std::isfinite(value));
}

TEST(Gradients, HaveHeavyTailsAndAFewExactZeros) {
  const std::vector<float> values = made(fill_gradients, 1 << 22);
  EXPECT_GT(kurtosis(values), 10);
  const auto zeros = static_cast<double>(std::ranges::count(values, 0.0F));
  const double share = zeros / static_cast<double>(values.size());
  EXPECT_GT(share, 0.001);
  EXPECT_LT(share, 0.03);
}

TEST(Gradients, ScalesOfLayersAreDecadesApart) {
  constexpr std::size_t kPart = 1 << 14;  // less than most layers
  const std::vector<float> values = made(fill_gradients, 1 << 22);
  std::vector<double> sizes;
  for (std::size_t first = 0; first < values.size(); first += kPart) {
    sizes.push_back(std::sqrt(mean_power(std::span(values).subspan(first, kPart), 2)));
  }
  const auto [least, most] = std::ranges::minmax(sizes);
  EXPECT_GT(most / least, 100);
  EXPECT_LT(most / least, 10'000);
}

}  // namespace
}  // namespace gradwire::bench
