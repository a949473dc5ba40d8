#include "convex/regulariser.h"

#include <array>
#include <cmath>

#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire::convex {
namespace {

constexpr const char* kSpecs[] = {
    "none",       "l1(0.3)",        "l2(2)", "elastic(l1=0.3, l2=2)", "box(low=-0.5, high=1)",
    "box(low=0)", "box(high=-0.25)"};

TEST(Regulariser, SpecIsCanonical) {
  for (const char* spec : kSpecs) EXPECT_EQ(parse_regulariser(spec).spec(), spec);
  EXPECT_EQ(parse_regulariser("box(1.5)").spec(), "box(low=-1.5, high=1.5)");
  EXPECT_EQ(parse_regulariser("l1(0)").spec(), "none");
}

TEST(Regulariser, ProxMinimisesWhatItIsDefinedBy) {
  constexpr double kStep = 0.7;
  for (const char* spec : kSpecs) {
    const Regulariser regulariser = parse_regulariser(spec);
    const auto penalty = [&](double y, double v) {
      return regulariser.value(std::array{y}) + (y - v) * (y - v) / (2 * kStep);
    };
    for (double v = -3; v <= 3; v += 0.1) {
      const double best = regulariser.prox(v, kStep);
      for (double y = -4; y <= 4; y += 0.01) {
        EXPECT_LE(penalty(best, v), penalty(y, v) + 1e-12) << spec << " at " << v << ", " << y;
      }
    }
  }
}

TEST(Regulariser, NearestSlopeIsZeroWhereTheProxStays) {
  // y = prox(v) means that (v - y) / step is a subgradient of R at y.
  for (const char* spec : kSpecs) {
    const Regulariser regulariser = parse_regulariser(spec);
    for (double v = -3; v <= 3; v += 0.1) {
      const double y = regulariser.prox(v, 0.7);
      EXPECT_NEAR(regulariser.nearest_slope(y, (y - v) / 0.7), 0, 1e-12) << spec << " at " << v;
    }
  }
}

TEST(Regulariser, ValueIsInfiniteOutsideTheBoxBeyondRounding) {
  const Regulariser box = parse_regulariser("box(0.1)");
  EXPECT_EQ(box.value(std::array{0.1, -0.1, static_cast<double>(0.1F)}), 0);
  EXPECT_TRUE(std::isinf(box.value(std::array{0.0, 0.11})));
}

TEST(Regulariser, WrongSpecShowsThePosition) {
  const auto message = [](const char* text) {
    return message_of<SpecError>([&] { parse_regulariser(text); });
  };
  EXPECT_EQ(message("elastc(l1=1, l2=1)"),
            "there is no regulariser called 'elastc'; did you mean 'elastic'?\n"
            "  elastc(l1=1, l2=1)\n  ^");
  EXPECT_EQ(message("l1"), "the strength 'l1' is missing\n  l1\n  ^");
  EXPECT_EQ(message("elastic(l1=1)"), "the strength 'l2' is missing\n  elastic(l1=1)\n  ^");
  EXPECT_EQ(message("l1(-1)"),
            "'l1' must be a number of at least 0\n"
            "  l1(-1)\n     ^");
  EXPECT_EQ(message("box(low=1, high=0)"),
            "the box is empty: its low bound is above its high one\n  box(low=1, high=0)\n  ^");
  EXPECT_NE(message("box"), "");
  EXPECT_NE(message("none(1)"), "");
  EXPECT_NE(message("l1(1) | l2(1)"), "");
}

}  // namespace
}  // namespace gradwire::convex
