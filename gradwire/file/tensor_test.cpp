#include "gradwire/file/tensor.h"

#include <limits>

#include "gtest/gtest.h"

namespace gradwire {
namespace {

using Shape = std::vector<std::uint64_t>;

TEST(ShapeElements, IsTheProductOfTheLengths) {
  EXPECT_EQ(shape_elements(Shape{}), 1u);
  EXPECT_EQ(shape_elements(Shape{7}), 7u);
  EXPECT_EQ(shape_elements(Shape{3, 4, 5}), 60u);
}

TEST(ShapeElements, IsNothingWhereTheProductDoesNotFit) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(shape_elements(Shape{kMax}), kMax);
  EXPECT_EQ(shape_elements(Shape{kMax, 2}), std::nullopt);
  EXPECT_EQ(shape_elements(Shape{1ull << 32, 1ull << 32}), std::nullopt);
}

TEST(ShapeElements, IsZeroWhereOneLengthIsHoweverLongTheOthers) {
  EXPECT_EQ(shape_elements(Shape{0}), 0u);
  EXPECT_EQ(shape_elements(Shape{1ull << 63, 4, 0}), 0u);
}

}  // namespace
}  // namespace gradwire
