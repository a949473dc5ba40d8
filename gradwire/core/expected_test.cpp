#include "gradwire/core/expected.h"

#include <gtest/gtest.h>

#include <string>

#include "gradwire/core/error_test_support.h"

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

TEST(Expected, AbsentValuesAndErrorsAreCallersMistakes) {
  const Decoded<int> failure = Unexpected{DecodeError{"too short", 7}};
  EXPECT_EQ(error_of([&] { failure.value(); }),
            "the bytes were refused at byte 7: too short (ask has_value() before value())");
  EXPECT_EQ(error_of([] { Decoded<int>(3).error(); }), "an Expected with a value has no error()");
  EXPECT_EQ(error_of([] { Decoded<void>().error(); }), "an Expected with a value has no error()");
}

}  // namespace
}  // namespace gradwire
