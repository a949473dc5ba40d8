#include "train/initial_weights.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace gradwire::train {
namespace {

std::vector<float> draw(const char* name, const InitialWeights& initial, std::uint64_t seed = 1) {
  std::vector<float> weights(10'000);
  draw_weights(name, initial, seed, weights);
  return weights;
}

double mean_square(const std::vector<float>& weights) {
  double sum = 0;
  for (const float weight : weights) sum += std::pow(weight, 2);
  return sum / static_cast<double>(weights.size());
}

TEST(InitialWeights, AreAFunctionOfNameAndSeed) {
  const auto normal = InitialWeights::normal(1);
  EXPECT_EQ(draw("fc1.weight", normal), draw("fc1.weight", normal));
  EXPECT_NE(draw("fc1.weight", normal), draw("fc2.weight", normal));
  EXPECT_NE(draw("fc1.weight", normal, 1), draw("fc1.weight", normal, 2));
}

// The mean square of 10,000 normal numbers has a standard deviation of 1.4%.
TEST(InitialWeights, HaveTheVarianceOfTheirScheme) {
  EXPECT_EQ(draw("a", InitialWeights::constant(1)), std::vector<float>(10'000, 1.0F));
  EXPECT_NEAR(mean_square(draw("a", InitialWeights::normal(0.02))), 4e-4, 2e-5);
  EXPECT_NEAR(mean_square(draw("a", InitialWeights::before_relu(50))), 2.0 / 50, 0.002);
  const auto uniform = draw("a", InitialWeights::before_loss(100));
  EXPECT_NEAR(mean_square(uniform), 0.01 / 3, 0.0002);
  for (const float weight : uniform) EXPECT_LE(std::abs(weight), 0.1F);
}

}  // namespace
}  // namespace gradwire::train
