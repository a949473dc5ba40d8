#include "gradwire/kernel/adam.h"

#include <vector>

#include "gradwire/kernel/test_support.h"

namespace gradwire::kernel {
namespace {

TEST(AdamKernel, StepsAsItsScalarTwin) {
  const AdamStep step{
      .mean_decay = 0.9F, .square_decay = 0.99F, .rate = 0.003F, .unbias = 1.7F, .epsilon = 1e-8F};
  for_hard_inputs([&](std::span<const float> values, RandomStream) {
    std::vector<float> means[2], squares[2], weights[2];
    for (std::size_t i = 0; i < 2; ++i) {
      means[i].assign(values.rbegin(), values.rend());
      squares[i].resize(values.size(), 0.25F);
      weights[i].assign(values.begin(), values.end());
    }
    for (int repeat = 0; repeat < 2; ++repeat) {
      adam_step(step, values, means[0], squares[0], weights[0]);
      scalar::adam_step(step, values, means[1], squares[1], weights[1]);
    }
    expect_same(means[0], means[1]);
    expect_same(squares[0], squares[1]);
    expect_same(weights[0], weights[1]);
  });
}

TEST(AdamKernel, ThePartsOfAStepWorkAsTheirScalarTwins) {
  const AdamMoments moments{
      .mean_decay = 0.9F, .square_decay = 0.99F, .square_share = 0.008F, .scale = 0.7F};
  const AdamDivisor divisor{.unbias = 1.7F, .epsilon = 1e-8F};
  for_hard_inputs([&](std::span<const float> values, RandomStream) {
    std::vector<float> means[2], squares[2], results[2];
    for (std::size_t i = 0; i < 2; ++i) {
      means[i].assign(values.rbegin(), values.rend());
      squares[i].resize(values.size(), 0.25F);
      results[i].assign(values.begin(), values.end());
    }
    adam_moments(moments, values, means[0], squares[0]);
    scalar::adam_moments(moments, values, means[1], squares[1]);
    expect_same(means[0], means[1]);
    expect_same(squares[0], squares[1]);
    const AdamParts parts{.a = 0.9F, .b = 0.1F, .limit = 0.2F};
    adam_divide(divisor, parts, means[0], squares[0], results[0]);
    scalar::adam_divide(divisor, parts, means[1], squares[1], results[1]);
    expect_same(results[0], results[1]);
    adam_take(divisor, 0.5F, means[0], 0.5F, 0.01F, squares[0], results[0]);
    scalar::adam_take(divisor, 0.5F, means[1], 0.5F, 0.01F, squares[1], results[1]);
    expect_same(means[0], means[1]);
    expect_same(results[0], results[1]);
  });
}

TEST(AdamKernel, ValuesAreLimitedUnlessTheyAreNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> means(20), squares(20, 1.0F);
  std::vector<float> values(20, 0.5F);
  values[1] = 100;
  values[2] = -1e38F;
  values[3] = infinity;
  values[4] = std::nanf("");
  values[18] = -infinity;
  adam_divide({.unbias = 1, .epsilon = 0}, {.a = 1, .b = 10, .limit = 20}, means, squares, values);
  EXPECT_EQ(values[0], 5);
  EXPECT_EQ(values[1], 20);
  EXPECT_EQ(values[2], -20);
  for (const std::size_t i : {3u, 4u, 18u}) EXPECT_FALSE(std::isfinite(values[i])) << i;
}

TEST(AdamKernel, TheFirstStepIsTheRateInTheDirectionOfTheGradient) {
  const AdamStep step{
      .mean_decay = 0.5F, .square_decay = 0.75F, .rate = 0.125F / 0.5F, .unbias = 2, .epsilon = 0};
  std::vector<float> means(2), squares(2), weights = {1, 1};
  adam_step(step, std::vector<float>{4, -8}, means, squares, weights);
  EXPECT_EQ(weights, (std::vector<float>{0.875F, 1.125F}));
}

}  // namespace
}  // namespace gradwire::kernel
