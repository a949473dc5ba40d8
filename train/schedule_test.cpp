#include "train/schedule.h"

#include "gradwire/core/error.h"
#include "gtest/gtest.h"

namespace gradwire::train {
namespace {

RatePlan plan(const char* schedule, double warmup = 0) {
  return {.schedule = parse_schedule(schedule),
          .rate = 2,
          .warmup_epochs = warmup,
          .steps_per_epoch = 10,
          .steps = 100};
}

TEST(Schedule, ConstantStays) {
  EXPECT_EQ(plan("constant").at(0), 2);
  EXPECT_EQ(plan("constant").at(99), 2);
}

TEST(Schedule, StepsGoDownByTheFactor) {
  const RatePlan steps = plan("step(every=3, factor=0.5)");
  EXPECT_EQ(steps.at(29), 2);
  EXPECT_EQ(steps.at(30), 1);
  EXPECT_EQ(steps.at(60), 0.5);
}

TEST(Schedule, StepsComeInTimeAfterPartsOfEpochs) {
  EXPECT_NEAR(plan("step(every=0.1, factor=0.5)").at(3), 0.25, 1e-12);
}

TEST(Schedule, CosineGoesFromAllToTheLast) {
  EXPECT_EQ(plan("cosine").at(0), 2);
  EXPECT_NEAR(plan("cosine").at(50), 1, 1e-12);
  EXPECT_NEAR(plan("cosine").at(100), 0, 1e-12);
  EXPECT_NEAR(plan("cosine(last=0.1)").at(100), 0.2, 1e-12);
}

TEST(Schedule, WarmUpRisesInALineAndIsNeverZero) {
  const RatePlan warm = plan("constant", 2);
  EXPECT_NEAR(warm.at(0), 2.0 / 21, 1e-12);
  EXPECT_NEAR(warm.at(9), 20.0 / 21, 1e-12);
  EXPECT_EQ(warm.at(20), 2);
  EXPECT_EQ(plan("cosine", 2).at(20), 2);
  EXPECT_NEAR(plan("cosine", 2).at(60), 1, 1e-12);
}

TEST(Schedule, SpecsAreCanonicalAndWrongOnesRefused) {
  for (const char* spec : {"constant", "cosine", "cosine(last=0.1)", "step(every=3, factor=0.5)"}) {
    EXPECT_EQ(parse_schedule(spec).spec(), spec);
  }
  EXPECT_THROW(parse_schedule("cosinus"), Error);
  EXPECT_THROW(parse_schedule("step(every=0)"), Error);
}

}  // namespace
}  // namespace gradwire::train
