#include "gradwire/collective/direct_spec.h"

#include "gradwire/core/error.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

void expect_refused(std::string_view text, std::string_view message) {
  try {
    parse_direct_spec(text);
    ADD_FAILURE() << text << " was taken";
  } catch (const SpecError& error) {
    EXPECT_EQ(error.what(), message);
  }
}

TEST(DirectSpec, CodecAloneIsItsUplink) {
  const DirectSpec spec = parse_direct_spec("topk(1%)|natural");
  EXPECT_EQ(spec.up->spec(), "topk(1%) | natural");
  EXPECT_EQ(spec.down, nullptr);
  EXPECT_EQ(spec.text, "topk(1%) | natural");
}

TEST(DirectSpec, DownIsNullUnlessGiven) {
  const DirectSpec up_only = parse_direct_spec("direct(qsgd(bits=4))");
  EXPECT_EQ(up_only.up->spec(), "qsgd(bits=4, norm=linf, bucket=512)");
  EXPECT_EQ(up_only.down, nullptr);
  EXPECT_EQ(up_only.text, "direct(qsgd(bits=4, norm=linf, bucket=512))");

  const DirectSpec both = parse_direct_spec(" direct( topk(1%) | natural , down = none ) ");
  EXPECT_EQ(both.up->spec(), "topk(1%) | natural");
  ASSERT_NE(both.down, nullptr);
  EXPECT_EQ(both.down->spec(), "none");
  EXPECT_EQ(both.text, "direct(topk(1%) | natural, down=none)");
}

TEST(DirectSpec, TextParsesToItselfAgain) {
  for (const char* text : {"natural", "direct(randk(1%, seed=shared))",
                           "direct(topk(1%) | natural | entropy, down=qsgd(bits=8) | entropy)"}) {
    const std::string canonical = parse_direct_spec(text).text;
    EXPECT_EQ(parse_direct_spec(canonical).text, canonical);
  }
}

TEST(DirectSpec, ErrorsInNestedCodecsPointIntoTheWholeText) {
  expect_refused("direct(topk(1%) | naturl)",
                 "there is no codec called 'naturl'; did you mean 'natural'?\n"
                 "  direct(topk(1%) | naturl)\n"
                 "                    ^");
  expect_refused("direct(natural, down=topk(200%))",
                 "'share' must be above 0 and at most 1, such as 1% or 0.01\n"
                 "  direct(natural, down=topk(200%))\n"
                 "                            ^");
}

TEST(DirectSpec, CodecMustBeThereAndBeOne) {
  for (const char* text : {"direct", "direct(down=natural)"}) {
    expect_refused(
        text, "'direct' needs a codec, as in 'direct(natural)'\n  " + std::string(text) + "\n  ^");
  }
  expect_refused("direct(4)",
                 "expected a codec, such as 'natural', found a number\n"
                 "  direct(4)\n"
                 "         ^");
  expect_refused("direct(natural, none)",
                 "'direct' takes one codec; that of the way down is 'down='\n"
                 "  direct(natural, none)\n"
                 "                  ^");
}

TEST(DirectSpec, UnknownKeyGetsTheNearest) {
  expect_refused("direct(natural, dwon=none)",
                 "'direct' takes a codec and 'down', not 'dwon'; did you mean 'down'?\n"
                 "  direct(natural, dwon=none)\n"
                 "                  ^");
}

TEST(DirectSpec, GoesAroundAPipeAndIsNoStageOfOne) {
  expect_refused("topk(1%) | direct(natural)",
                 "'direct' goes around a whole pipe, as in 'direct(topk(1%) | natural)'\n"
                 "  topk(1%) | direct(natural)\n"
                 "             ^");
}

}  // namespace
}  // namespace gradwire
