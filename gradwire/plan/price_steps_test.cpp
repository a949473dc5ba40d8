#include "gradwire/plan/price_steps.h"

#include <cmath>

#include "gtest/gtest.h"

namespace gradwire::plan {
namespace {

TEST(PriceSteps, WholePricesComeInStepsOfWhatTheyHaveInCommon) {
  const std::vector<Items> layers = {
      {{0, 34, 0}, {1, 22, 1}}, {{0, 28, 0}, {1, 10, 1}}, {{0, 5, 0}}};
  const PriceSteps steps = price_steps(layers);  // 67 and multiples of 6
  EXPECT_EQ(steps.step, 6);
  EXPECT_EQ(steps.below(67), 61);
  EXPECT_EQ(steps.below(67.5), 67);
  EXPECT_EQ(steps.below(62), 61);
  EXPECT_EQ(steps.below(1), -5);
  EXPECT_EQ(steps.below(0.5), -5);
}

TEST(PriceSteps, OtherPricesMayBeAnything) {
  const std::vector<Items> layers = {{{0, 34, 0}, {1, 22.5, 1}}};
  EXPECT_EQ(price_steps(layers).below(30), std::nextafter(30, 0));
  const std::vector<Items> huge = {{{0, 0x1p53, 0}, {1, 2, 1}}};
  EXPECT_EQ(price_steps(huge).below(30), std::nextafter(30, 0));
}

}  // namespace
}  // namespace gradwire::plan
