#include "record/plan_record.h"

#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"
#include "record/step_log.h"

namespace gradwire::record {
namespace {

PlanNote example() {
  return {.reason = "The first plan.",
          .layers = {{"w", 1000, "qsgd(bits=4)", 500, 0.1}, {"bias", 10, "none", 40, 0}},
          .bytes = 500,
          .uniform_bytes = 800,
          .error = 0.1,
          .uniform_error = 0.125,
          .seconds = 0.002};
}

TEST(PlanRecord, SaysWhatEveryLayerGets) {
  const Json plan = to_json(example());
  EXPECT_EQ(plan["reason"], "The first plan.");
  EXPECT_EQ(plan["planning_ms"], 2.0);
  EXPECT_EQ(plan["layers"][0]["bits"], 4.0);
  EXPECT_EQ(plan["layers"][1]["choice"], "none");
  EXPECT_FALSE(plan.contains("budget"));
  EXPECT_EQ(plan_line(plan),
            "The first plan. 500 bytes instead of 800; the error that is planned by is 0.1 of the "
            "gradient instead of 0.125.");
}

TEST(PlanRecord, SaysWhatABudgetWasMeasuredAs) {
  PlanNote note = example();
  note.budget = {.compute_seconds = 0.03,
                 .bytes_per_second = 5e6,
                 .latency_seconds = 0.001,
                 .groups = 3,
                 .hidden_room_seconds = 0.018,
                 .hidden_seconds = 0.0125,
                 .visible_seconds = 0.003};
  const Json plan = to_json(note);
  EXPECT_EQ(plan["budget"]["hidden_ms"], 12.5);
  EXPECT_TRUE(plan_line(plan).ends_with(
      " The link takes 5 MB/s and 1 ms for each exchange; gradients become ready over 30 ms, in 3 "
      "groups. Their exchange should take 12.5 of 18 ms that it can hide behind, and for the last "
      "group 3 ms more."));
}

// From a method's report to the step's line, back, and into the record of the run.
TEST(PlanRecord, GoesWithItsStep) {
  const TestDirectory directory;
  MethodReport report;
  report.plan = std::make_shared<PlanNote>(example());
  std::vector<StepRecord> steps = {{.step = 1}, {.step = 2}};
  note_report(report, steps[1]);
  StepWriter(directory / kStepsFile).write(steps);
  EXPECT_EQ(read_steps(directory / kStepsFile), steps);
  RunRecord run;
  add_totals(steps, run);
  ASSERT_EQ(run.plans.size(), 1U);
  EXPECT_EQ(run.plans[0]["step"], 2);
  EXPECT_EQ(run.plans[0]["layers"].size(), 2U);
}

}  // namespace
}  // namespace gradwire::record
