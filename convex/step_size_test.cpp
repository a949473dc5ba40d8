#include "convex/step_size.h"

#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire::convex {
namespace {

TEST(StepRule, IsAutomaticANumberOrAShareOfOneOverL) {
  EXPECT_EQ(parse_step_rule("auto").kind, StepRule::Kind::automatic);
  EXPECT_EQ(parse_step_rule("1e-2").number, 0.01);
  EXPECT_EQ(parse_step_rule("0.5/L").kind, StepRule::Kind::per_smoothness);
  EXPECT_EQ(parse_step_rule("0.5/L").number, 0.5);
  for (const char* text : {"", "0", "-1", "inf", "nan", "/L", "L", "1/l", "0.5x", "automatic",
                           "auto/(1+t/0)", "auto/(1+t/x)", "/(1+t/5)", "1/(1+t/5", "1/(1+t/)"}) {
    EXPECT_EQ(message_of<Error>([&] { parse_step_rule(text); }),
              "'" + std::string(text) +
                  "' is not a step size: use auto, a number above 0, or 0.5/L; behind it "
                  "/(1+t/100) makes steps shorter");
  }
}

TEST(StepRule, StepsMayBecomeShorter) {
  EXPECT_EQ(parse_step_rule("0.5/L").share_of(1000), 1);
  for (const char* text : {"auto/(1+t/100)", "0.5/(1+t/100)", "0.5/L/(1+t/100)"}) {
    const StepRule rule = parse_step_rule(text);
    EXPECT_EQ(rule.share_of(0), 1) << text;
    EXPECT_EQ(rule.share_of(100), 0.5) << text;
    EXPECT_EQ(rule.share_of(300), 0.25) << text;
  }
  EXPECT_EQ(parse_step_rule("0.5/L/(1+t/100)").kind, StepRule::Kind::per_smoothness);
  EXPECT_EQ(parse_step_rule("0.5/L/(1+t/100)").number, 0.5);
}

TEST(L2Rule, IsANumberOrAFractionOfL) {
  EXPECT_EQ(parse_l2_rule("0").value(3), 0);
  EXPECT_EQ(parse_l2_rule("0.25").value(3), 0.25);
  EXPECT_EQ(parse_l2_rule("L/100").value(3), 0.03);
  for (const char* text : {"", "-1", "L", "L/0", "L/", "1/L", "100/L", "L/-1"}) {
    EXPECT_EQ(message_of<Error>([&] { parse_l2_rule(text); }),
              "'" + std::string(text) + "' is not a strength: use 0, a number above it, or L/100");
  }
}

}  // namespace
}  // namespace gradwire::convex
