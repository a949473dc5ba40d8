#include "gradwire/core/expected.h"

#include <gtest/gtest.h>

#include <string>

namespace gradwire {
namespace {

TEST(Expected, HoldsAValueOrTheReasonWhyNot) {
  const Decoded<std::string> value = std::string("here");
  ASSERT_TRUE(value);
  EXPECT_EQ(*value, "here");
  EXPECT_EQ(value->size(), 4u);
  const Decoded<std::string> failure = Unexpected{DecodeError{"too short", 7}};
  ASSERT_FALSE(failure);
  EXPECT_STREQ(failure.error().what, "too short");
  EXPECT_EQ(failure.error().byte_offset, 7u);
}

TEST(Expected, OfNothingStillTellsTheReason) {
  EXPECT_TRUE(Decoded<void>());
  const Decoded<void> failure = Unexpected{DecodeError{"bad", 1}};
  ASSERT_FALSE(failure);
  EXPECT_STREQ(failure.error().what, "bad");
}

}  // namespace
}  // namespace gradwire
