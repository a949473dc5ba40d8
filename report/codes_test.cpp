#include "report/codes.h"

#include <cmath>

#include "gtest/gtest.h"

namespace gradwire::report {
namespace {

using record::Json;

// Two full steps, then sparse ones up to step 10, then coded ones.
Run run_of(std::uint64_t steps) {
  Run run;
  for (std::uint64_t step = 1; step <= steps; ++step) {
    const bool is_full = step <= 2;
    const bool is_coded = step > 10;
    CodeNote note{.phase = is_full    ? "full"
                           : is_coded ? "coded"
                                      : "sparse",
                  .parts = {{"values", is_full    ? 0u
                                       : is_coded ? 10u
                                                  : 100u},
                            {"full", is_full ? 5000u : 0u}},
                  .learn_seconds = 0.5};
    if (is_coded) note.error = 0.25;
    run.steps.push_back({.step = step, .traffic = {.bytes_sent = 7 + step}, .code = note});
  }
  return run;
}

TEST(Codes, AreNotThereWithoutNotes) {
  EXPECT_TRUE(code_of({}).is_null());
  auto run = run_of(5);
  for (record::StepRecord& step : run.steps) step.code.reset();
  EXPECT_TRUE(code_of(run).is_null());
}

TEST(Codes, FewStepsHaveAColumnEach) {
  const Json code = code_of(run_of(12));
  EXPECT_EQ(code["edges"].size(), 13u);
  EXPECT_EQ(code["edges"].front(), 0);
  EXPECT_EQ(code["edges"].back(), 12);
  EXPECT_EQ(code["phase"].dump(), "[0,0,1,1,1,1,1,1,1,1,2,2]");
  EXPECT_EQ(code["parts"][0]["name"], "values");
  EXPECT_EQ(code["parts"][0]["bytes"][1], 0.0);
  EXPECT_EQ(code["parts"][0]["bytes"][2], 100.0);
  EXPECT_EQ(code["parts"][1]["bytes"][1], 5000.0);
  EXPECT_EQ(code["bytes"][1], 5000.0);
  EXPECT_EQ(code["bytes"][11], 10.0);
  EXPECT_TRUE(code["error"][9].is_null());
  EXPECT_EQ(code["error"][10], 0.25);
}

TEST(Codes, SayHowManyStepsAPhaseHasAndWhatIsSentInOne) {
  const Json code = code_of(run_of(12));
  ASSERT_EQ(code["phases"].size(), 3u);
  EXPECT_EQ(code["phases"][0]["name"], "full");
  EXPECT_EQ(code["phases"][0]["steps"], 2);
  EXPECT_EQ(code["phases"][0]["bytes_per_step"], 8.5);
  EXPECT_EQ(code["phases"][2]["bytes_per_step"], 18.5);
  EXPECT_EQ(code["mean_error"], 0.25);
  EXPECT_EQ(code["learn_ms"], 6000.0);
}

TEST(Codes, ManyStepsShareColumnsButNotThoseOfTwoPhases) {
  auto run = run_of(20'000);
  run.steps[10'000].code->error = std::nan("");  // counts as none
  const Json code = code_of(run);
  EXPECT_LE(code["phase"].size(), kCodeColumnsMax);
  EXPECT_GE(code["phase"].size(), kCodeColumnsMax / 2);
  EXPECT_EQ(code["edges"][1], 2);
  EXPECT_EQ(code["edges"][2], 10);
  EXPECT_EQ(code["edges"].back(), 20'000);
  EXPECT_EQ(code["parts"][1]["bytes"][0], 5000.0);
  EXPECT_EQ(code["parts"][1]["bytes"][1], 0.0);
  for (std::size_t i = 2; i < code["error"].size(); ++i) EXPECT_EQ(code["error"][i], 0.25);
}

// As where every 20th step sends exact values.
TEST(Codes, PhasesThatChangeTooOftenShareColumnsButNotWithFullSteps) {
  auto run = run_of(20'000);
  for (std::size_t i = 39; i < run.steps.size(); i += 20) run.steps[i].code->phase = "sparse";
  const Json code = code_of(run);
  EXPECT_LE(code["phase"].size(), kCodeColumnsMax);
  EXPECT_EQ(code["edges"][1], 2);
  EXPECT_EQ(code["phase"][0], 0);
  for (std::size_t i = 1; i < code["phase"].size(); ++i) EXPECT_EQ(code["phase"][i], 2);
  for (std::size_t i = 0; i < run.steps.size(); i += 2) run.steps[i].code->phase = "full";
  EXPECT_LE(code_of(run)["phase"].size(), kCodeColumnsMax);
}

TEST(Codes, StepsWithoutANoteOrWithoutAPartAreNothing) {
  auto run = run_of(4);
  run.steps[0].code.reset();
  run.steps[3].code->parts = {{"other", 1}};
  const Json code = code_of(run);
  EXPECT_EQ(code["edges"].dump(), "[1,2,3,4]");
  ASSERT_EQ(code["parts"].size(), 2u);
  EXPECT_EQ(code["parts"][0]["bytes"][2], 0.0);
  EXPECT_TRUE(code["mean_error"].is_null());
}

}  // namespace
}  // namespace gradwire::report
