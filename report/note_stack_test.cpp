#include "report/note_stack.h"

#include <cmath>

#include "gtest/gtest.h"
#include "report/note_test_support.h"

namespace gradwire::report {
namespace {

// Two full steps, then sparse ones up to step 10, then coded ones.
Run run_of(std::uint64_t steps) {
  Run run;
  for (std::uint64_t step = 1; step <= steps; ++step) {
    const bool is_full = step <= 2;
    const bool is_coded = step > 10;
    Note note = stack_note(is_full    ? "full"
                           : is_coded ? "coded"
                                      : "sparse",
                           {{"values", is_full    ? 0u
                                       : is_coded ? 10u
                                                  : 100u},
                            {"full", is_full ? 5000u : 0u}});
    if (is_coded) note.set("error", 0.25);
    run.steps.push_back({.step = step, .traffic = {.bytes_sent = 7 + step}, .note = note});
  }
  return run;
}

Json stack_in(const Run& run) {
  return stack_of(std::get<NoteStackView>(stack_kind().view.kind),
                  notes_of_kind(stack_kind(), run));
}

TEST(NoteStack, AreNotThereWithoutNotes) {
  EXPECT_TRUE(stack_in({}).is_null());
  auto run = run_of(5);
  for (record::StepRecord& step : run.steps) step.note.reset();
  EXPECT_TRUE(stack_in(run).is_null());
}

TEST(NoteStack, FewStepsHaveAColumnEach) {
  const Json stack = stack_in(run_of(12));
  EXPECT_EQ(stack["edges"].size(), 13u);
  EXPECT_EQ(stack["edges"].front(), 0);
  EXPECT_EQ(stack["edges"].back(), 12);
  EXPECT_EQ(stack["band"].dump(), "[0,0,1,1,1,1,1,1,1,1,2,2]");
  EXPECT_EQ(stack["rows"][0]["name"], "values");
  EXPECT_EQ(stack["rows"][0]["values"][1], 0.0);
  EXPECT_EQ(stack["rows"][0]["values"][2], 100.0);
  EXPECT_EQ(stack["rows"][1]["values"][1], 5000.0);
  EXPECT_EQ(stack["heights"][1], 5000.0);
  EXPECT_EQ(stack["heights"][11], 10.0);
  EXPECT_TRUE(stack["line"][9].is_null());
  EXPECT_EQ(stack["line"][10], 0.25);
}

TEST(NoteStack, SayHowManyStepsAPhaseHasAndWhatIsSentInOne) {
  const Json stack = stack_in(run_of(12));
  ASSERT_EQ(stack["bands"].size(), 3u);
  EXPECT_EQ(stack["bands"][0]["name"], "full");
  EXPECT_EQ(stack["bands"][0]["steps"], 2);
  EXPECT_EQ(stack["bands"][0]["bytes_per_step"], 8.5);
  EXPECT_EQ(stack["bands"][2]["bytes_per_step"], 18.5);
  EXPECT_EQ(stack["bands"][2]["word"], 2);
  EXPECT_EQ(stack["facts"].dump(), R"([{"label":"mean error","value":0.25,"unit":""},)"
                                   R"({"label":"learning","value":6000.0,"unit":"ms"}])");
}

TEST(NoteStack, ManyStepsShareColumnsButNotThoseOfTwoPhases) {
  auto run = run_of(20'000);
  run.steps[10'000].note->set("error", std::nan(""));  // counts as none
  const Json stack = stack_in(run);
  EXPECT_LE(stack["band"].size(), kStackColumnsMax);
  EXPECT_GE(stack["band"].size(), kStackColumnsMax / 2);
  EXPECT_EQ(stack["edges"][1], 2);
  EXPECT_EQ(stack["edges"][2], 10);
  EXPECT_EQ(stack["edges"].back(), 20'000);
  EXPECT_EQ(stack["rows"][1]["values"][0], 5000.0);
  EXPECT_EQ(stack["rows"][1]["values"][1], 0.0);
  for (std::size_t i = 2; i < stack["line"].size(); ++i) EXPECT_EQ(stack["line"][i], 0.25);
}

// As where every 20th step sends exact values.
TEST(NoteStack, PhasesThatChangeTooOftenShareColumnsButNotWithFullSteps) {
  auto run = run_of(20'000);
  for (std::size_t i = 39; i < run.steps.size(); i += 20)
    run.steps[i].note->set("phase", std::string("sparse"));
  const Json stack = stack_in(run);
  EXPECT_LE(stack["band"].size(), kStackColumnsMax);
  EXPECT_EQ(stack["edges"][1], 2);
  EXPECT_EQ(stack["band"][0], 0);
  for (std::size_t i = 1; i < stack["band"].size(); ++i) EXPECT_EQ(stack["band"][i], 2);
  for (std::size_t i = 0; i < run.steps.size(); i += 2)
    run.steps[i].note->set("phase", std::string("full"));
  EXPECT_LE(stack_in(run)["band"].size(), kStackColumnsMax);
}

TEST(NoteStack, StepsWithoutANoteOrWithoutAPartAreNothing) {
  auto run = run_of(4);
  run.steps[0].note.reset();
  run.steps[3].note->rows = {{std::string("other"), std::uint64_t{1}}};
  const Json stack = stack_in(run);
  EXPECT_EQ(stack["edges"].dump(), "[1,2,3,4]");
  ASSERT_EQ(stack["rows"].size(), 2u);
  EXPECT_EQ(stack["rows"][0]["values"][2], 0.0);
  EXPECT_EQ(stack["facts"].size(), 1u);  // there is no mean error
}

}  // namespace
}  // namespace gradwire::report
