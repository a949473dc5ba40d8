#include "reproduce/dithering.h"

#include "bench/gradients.h"
#include "gtest/gtest.h"
#include "reproduce/codec_trial.h"

namespace gradwire::reproduce {
namespace {

TEST(Dithering, VarianceIsThatOfRoundingToTheTwoNearestLevels) {
  const std::vector<float> values = {0.25F, -0.6F};
  // Levels 0, 1/2, 1: (1/4)(1/4) and (1/10)(4/10), of 0.0625 + 0.36.
  EXPECT_NEAR(random_dithering_variance(values, 1, 2), 0.1025 / 0.4225, 1e-6);
  EXPECT_NEAR(natural_dithering_variance(values, 1, 2), 0.1025 / 0.4225, 1e-6);
  // With 1/4 as a level, too, the first value is exact.
  EXPECT_NEAR(natural_dithering_variance(values, 1, 3), 0.04 / 0.4225, 1e-6);
}

TEST(Dithering, CodecsHaveThatVariance) {
  std::vector<float> values(4096);
  bench::fill_gaussian({.seed = 1, .purpose = Purpose::data}, values);
  double squared = 0;
  for (const double value : values) squared += value * value;
  const double norm = std::sqrt(squared);
  EXPECT_NEAR(try_codec("natural_dither(levels=4, norm=l2, bucket=4096)", values, 50).error_squared,
              natural_dithering_variance(values, norm, 4),
              0.05 * natural_dithering_variance(values, norm, 4));
  EXPECT_NEAR(try_codec("qsgd(bits=4, norm=l2, bucket=4096)", values, 50).error_squared,
              random_dithering_variance(values, norm, 7),
              0.05 * random_dithering_variance(values, norm, 7));
}

TEST(CodecTrial, CountsBitsAndWhatAveragesOut) {
  std::vector<float> values(10'000);
  bench::fill_gaussian({.seed = 1, .purpose = Purpose::data}, values);
  const CodecTrial none = try_codec("none", values, 2);
  EXPECT_EQ(none.bits, 32);
  EXPECT_EQ(none.error_squared, 0);
  EXPECT_NEAR(none.growth, 1, 1e-12);
  const CodecTrial natural = try_codec("natural", values, 16);
  EXPECT_EQ(natural.bits, 9);
  EXPECT_NEAR(natural.growth, 1 + natural.error_squared, 0.01);
  EXPECT_NEAR(natural.error_squared / natural.bias_squared, 16, 2);
}

}  // namespace
}  // namespace gradwire::reproduce
