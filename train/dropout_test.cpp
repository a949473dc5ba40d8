#include "train/dropout.h"

#include <cmath>
#include <vector>

#include "gradwire/core/random.h"
#include "gtest/gtest.h"

namespace gradwire::train {
namespace {

constexpr Draw kDraw{.seed = 1, .step = 2, .rank = 3, .part = 4};

std::vector<float> factors(const Draw& draw, const char* layer = "fc1", double share = 0.25) {
  std::vector<float> factors(10'000);
  draw_dropout(draw, Rng::tensor_id(layer), share, factors);
  return factors;
}

TEST(Dropout, IsTheSameForTheSameDraw) { EXPECT_EQ(factors(kDraw), factors(kDraw)); }

TEST(Dropout, IsAnotherForAnotherSeedStepRankPartOrLayer) {
  const Draw others[] = {{.seed = 9, .step = 2, .rank = 3, .part = 4},
                         {.seed = 1, .step = 9, .rank = 3, .part = 4},
                         {.seed = 1, .step = 2, .rank = 9, .part = 4},
                         {.seed = 1, .step = 2, .rank = 3, .part = 9}};
  for (const Draw& other : others) EXPECT_NE(factors(kDraw), factors(other));
  EXPECT_NE(factors(kDraw), factors(kDraw, "fc2"));
}

TEST(Dropout, KeepsTheExpectation) {
  for (const double share : {0.0, 0.1, 0.5, 0.95}) {
    double sum = 0;
    const auto drawn = factors(kDraw, "fc1", share);
    for (const float factor : drawn) {
      EXPECT_TRUE(factor == 0 || factor == static_cast<float>(1 / (1 - share))) << factor;
      sum += factor;
    }
    // Four standard deviations: wrong once in 16,000 seeds, and the seed is fixed.
    const double count = static_cast<double>(drawn.size());
    const double deviation = std::sqrt(share / (1 - share) / count);
    EXPECT_NEAR(sum / count, 1, 4 * deviation + 1e-6) << share;
  }
}

}  // namespace
}  // namespace gradwire::train
