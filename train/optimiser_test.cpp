#include "train/optimiser.h"

#include <cmath>

#include "gradwire/core/error.h"
#include "gradwire/method/parsed_method.h"
#include "gtest/gtest.h"

namespace gradwire::train {
namespace {

using Output = MethodTraits::Output;

// One parameter after so many steps along the gradient of x^2 / 2, which is x.
float walk(const std::string& spec, int steps, float x = 1, double rate = 0.1) {
  Optimiser optimiser(parse_optimiser(spec), {}, 1);
  for (int i = 0; i < steps; ++i) {
    float gradient = x;
    optimiser.step(Output::gradient, rate, {&gradient, 1}, {&x, 1});
  }
  return x;
}

TEST(Optimiser, SgdGoesAlongTheGradient) { EXPECT_FLOAT_EQ(walk("sgd", 2), 0.81F); }

TEST(Optimiser, MomentumAddsUpSlopes) {
  // v = 1, x = 0.9; v = 0.9 + 0.9 = 1.8, x = 0.72
  EXPECT_FLOAT_EQ(walk("sgd(momentum=0.9)", 2), 0.72F);
}

TEST(Optimiser, NesterovLooksAhead) {
  // v = 1, x = 1 - 0.1 (1 + 0.9) = 0.81; v = 0.9 + 0.81, x = 0.81 - 0.1 (0.81 + 0.9 * 1.71)
  EXPECT_FLOAT_EQ(walk("sgd(momentum=0.9, nesterov=on)", 2), 0.81F - 0.1F * (0.81F + 1.539F));
}

TEST(Optimiser, DecayPullsToZero) { EXPECT_FLOAT_EQ(walk("sgd(decay=0.5)", 1), 0.85F); }

TEST(Optimiser, AdamsFirstStepHasTheLengthOfTheRate) {
  EXPECT_NEAR(walk("adam", 1, 3.0F), 2.9F, 1e-6);
  EXPECT_NEAR(walk("adam", 1, -0.001F), 0.099F, 1e-5);
}

TEST(Optimiser, AdamwDecaysBesideTheGradient) {
  EXPECT_NEAR(walk("adamw(decay=0.5)", 1, 2.0F), 2.0F - 0.1F - 0.1F, 1e-6);
}

TEST(Optimiser, UpdatesAreSubtractedAsTheyAre) {
  Optimiser optimiser(parse_optimiser("sgd(decay=0.5)"), {}, 1);
  float update = 0.25F;
  float x = 1;
  optimiser.step(Output::update, 0.1, {&update, 1}, {&x, 1});
  EXPECT_FLOAT_EQ(x, 0.7F);
}

TEST(Optimiser, TheProxComesLast) {
  Optimiser optimiser(parse_optimiser("sgd"), {.l1 = 1}, 2);
  std::vector<float> gradient = {1, 1};
  std::vector<float> x = {0.15F, 1};
  optimiser.step(Output::gradient, 0.1, gradient, x);
  EXPECT_EQ(x[0], 0);
  EXPECT_FLOAT_EQ(x[1], 0.8F);
}

TEST(Optimiser, SpecsAreCanonical) {
  for (const char* spec : {"sgd", "sgd(momentum=0.9)", "sgd(momentum=0.9, nesterov=on, decay=0.01)",
                           "adam", "adamw", "adamw(beta2=0.95, decay=0.1)"}) {
    EXPECT_EQ(parse_optimiser(spec).spec(), spec);
  }
  EXPECT_EQ(parse_optimiser("sgd(decay=0, momentum=0)").spec(), "sgd");
}

TEST(Optimiser, WrongSpecsAreRefused) {
  for (const char* spec : {"sdg", "sgd(momentum=1)", "sgd(nesterov=on)", "adam(rate=1)",
                           "sgd | adam", "sgd(decay=-1)"}) {
    EXPECT_THROW(parse_optimiser(spec), Error) << spec;
  }
}

TEST(Optimiser, WhatContradictsAMethodIsRefusedWithTheReason) {
  const auto refusal = [](const MethodTraits& traits, const char* spec, bool clips) {
    try {
      check_optimiser_fits(traits, "m", parse_optimiser(spec), clips, false);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const MethodTraits update{.output = Output::update};
  EXPECT_EQ(refusal(update, "sgd", false), "");
  EXPECT_NE(refusal(update, "sgd(momentum=0.9)", false).find("--optimiser sgd"), std::string::npos);
  EXPECT_NE(refusal(update, "adam", false), "");
  EXPECT_NE(refusal(update, "sgd", true).find("--clip"), std::string::npos);
  const MethodTraits own{.owns_momentum = true};
  EXPECT_EQ(refusal(own, "sgd", true), "");
  EXPECT_NE(refusal(own, "sgd(momentum=0.9)", false).find("twice"), std::string::npos);
}

TEST(Optimiser, AMethodThatOwnsMomentsTakesTheSettingsOver) {
  const MethodTraits traits = parse_method("adam(sign)").traits;
  const OptimiserOptions adamw = parse_optimiser("adamw(beta2=0.95, decay=0.1)");
  EXPECT_NO_THROW(check_optimiser_fits(traits, "m", adamw, false, false));
  EXPECT_NO_THROW(check_optimiser_fits(traits, "m", parse_optimiser("sgd"), false, false));
  EXPECT_THROW(check_optimiser_fits(traits, "m", adamw, true, false), Error);
  EXPECT_THROW(check_optimiser_fits(traits, "m", adamw, false, true), Error);
  EXPECT_THROW(check_optimiser_fits(traits, "m", parse_optimiser("adam(decay=0.1)"), false, false),
               Error);
  const auto moments = moments_for(adamw, 2);
  ASSERT_EQ(moments.size(), 2u);
  EXPECT_EQ(moments[1], (MomentSettings{.beta2 = 0.95, .decay = 0.1}));
  EXPECT_TRUE(moments_for(parse_optimiser("sgd"), 2).empty());
  EXPECT_EQ(left_behind(traits, adamw).spec(), "sgd");
  EXPECT_EQ(left_behind(MethodTraits(), adamw).spec(), adamw.spec());
}

TEST(Optimiser, BiasedMethodsWithMomentsAreWarnedAbout) {
  const auto warning = [](const char* spec, const char* optimiser) {
    const ParsedMethod method = parse_method(spec);
    return optimiser_warning(method.traits, method.spec, method.up.get(),
                             parse_optimiser(optimiser));
  };
  EXPECT_NE(warning("ef(topk(1%))", "adamw").find("adam(topk(1%))"), std::string::npos);
  EXPECT_NE(warning("sign", "adam"), "");
  for (const char* fine : {"natural | entropy", "none", "adam(sign)", "powersgd(rank=4)"}) {
    EXPECT_EQ(warning(fine, "adamw"), "") << fine;
  }
  EXPECT_EQ(warning("ef(topk(1%))", "sgd(momentum=0.9)"), "");
  EXPECT_EQ(warning("local(topk(1%))", "adamw"), "");
  EXPECT_EQ(warning("diloco", "adamw"), "");
  EXPECT_EQ(warning("local(topk(1%))", "sgd(momentum=0.9)"), "");
  EXPECT_NE(warning("diloco", "sgd").find("7 times"), std::string::npos);
}

TEST(Clip, LongGradientsGetTheLargestNormAndShortOnesStay) {
  std::vector<float> gradient = {3, 4};
  clip_norm(gradient, 10);
  EXPECT_EQ(gradient, (std::vector<float>{3, 4}));
  clip_norm(gradient, 1);
  EXPECT_FLOAT_EQ(gradient[0], 0.6F);
  EXPECT_FLOAT_EQ(gradient[1], 0.8F);
}

}  // namespace
}  // namespace gradwire::train
