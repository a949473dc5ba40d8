#include "gradwire/method/lgreco/plan_note.h"

#include "gradwire/method/note_totals.h"
#include "gtest/gtest.h"

namespace gradwire {
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

TEST(PlanNote, SaysWhatEveryLayerGets) {
  const Note plan = to_note(example());
  EXPECT_EQ(text_of(plan.get("reason")), "The first plan.");
  EXPECT_EQ(number_of(plan.get("planning_ms")), 2.0);
  EXPECT_EQ(number_of(plan.cell(0, "bits")), 4.0);
  EXPECT_EQ(text_of(plan.cell(1, "choice")), "none");
  EXPECT_FALSE(number_of(plan.get("budget.groups")));
  EXPECT_EQ(plan.line(),
            "The first plan. 500 bytes instead of 800; the error that is planned by is 0.1 of the "
            "gradient instead of 0.125.");
}

TEST(PlanNote, SaysWhatABudgetWasMeasuredAs) {
  PlanNote note = example();
  note.budget = {.compute_seconds = 0.03,
                 .bytes_per_second = 5e6,
                 .latency_seconds = 0.001,
                 .groups = 3,
                 .hidden_room_seconds = 0.018,
                 .hidden_seconds = 0.0125,
                 .visible_seconds = 0.003};
  const Note plan = to_note(note);
  EXPECT_EQ(number_of(plan.get("budget.hidden_ms")), 12.5);
  EXPECT_TRUE(plan.line().ends_with(
      " The link takes 5 MB/s and 1 ms for each exchange; gradients become ready over 30 ms, in 3 "
      "groups. Their exchange should take 12.5 of 18 ms that it can hide behind, and for the last "
      "group 3 ms more."));
}

TEST(PlanNote, RunSaysHowOftenItPlannedAndWhatThatTook) {
  NoteTotals totals(plan_note_kind());
  EXPECT_EQ(plan_note_kind().summary(totals, 1),
            "The run was over before a plan was made: all layers had the same setting.");
  totals.add(to_note({.reason = "No new plan.", .seconds = 0.001}), {});
  totals.add(to_note(example()), {});
  EXPECT_EQ(plan_note_kind().summary(totals, 0.6),
            "1 plan; statistics and planning took 0.5% of the time of rank 0.");
  totals.add(to_note(example()), {});
  EXPECT_EQ(plan_note_kind().summary(totals, 0),
            "2 plans; statistics and planning took 0% of the time of rank 0.");
}

}  // namespace
}  // namespace gradwire
