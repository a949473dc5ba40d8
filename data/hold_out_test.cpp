#include "data/hold_out.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace gradwire::data {
namespace {

TEST(HoldOut, IsATenthAndTheRestIsTrainedOn) {
  for (const std::size_t samples : {2, 9, 10, 1003}) {
    HoldOut parts = hold_out(samples, 1);
    EXPECT_EQ(parts.test.size(), std::max<std::size_t>(1, samples / 10));
    EXPECT_TRUE(std::ranges::is_sorted(parts.train));
    EXPECT_TRUE(std::ranges::is_sorted(parts.test));
    std::vector<std::uint32_t> all = parts.train;
    all.insert(all.end(), parts.test.begin(), parts.test.end());
    std::ranges::sort(all);
    for (std::uint32_t i = 0; i < samples; ++i) EXPECT_EQ(all[i], i);
  }
}

TEST(HoldOut, IsAFunctionOfTheSeed) {
  EXPECT_EQ(hold_out(1000, 1).test, hold_out(1000, 1).test);
  EXPECT_NE(hold_out(1000, 1).test, hold_out(1000, 2).test);
}

}  // namespace
}  // namespace gradwire::data
