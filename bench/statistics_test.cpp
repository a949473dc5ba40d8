#include "bench/statistics.h"

#include <gtest/gtest.h>

namespace gradwire::bench {
namespace {

TEST(Statistics, MedianIsTheMiddleOne) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 100}), 3);
}

TEST(Statistics, RelativeErrorIsAShareOfTheTruth) {
  const std::vector<float> truth = {3, 4}, values = {3, 9};
  EXPECT_DOUBLE_EQ(relative_error(values, truth), 1);
  EXPECT_EQ(relative_error(truth, truth), 0);
}

}  // namespace
}  // namespace gradwire::bench
