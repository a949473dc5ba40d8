#include "report/condensed_run.h"

#include <algorithm>
#include <numeric>

#include "gtest/gtest.h"
#include "report/curves.h"
#include "report/document.h"
#include "report/note_test_support.h"

namespace gradwire::report {
namespace {

record::StepRecord step_of(std::uint64_t number, double loss) {
  return {.step = number,
          .metrics = {.loss = loss},
          .traffic = {.bytes_sent = 10, .bytes_received = 20},
          .phases = {.compute_seconds = 0.25},
          .seconds = 0.5};
}

Run run_of(const CondensedRun& condensed) {
  return {.name = "a",
          .record = condensed.totals(),
          .steps = condensed.steps(),
          .counts = condensed.counts(),
          .notes = condensed.notes()};
}

TEST(CondensedRun, AShortRunIsKeptAsItIs) {
  CondensedRun condensed;
  for (std::uint64_t i = 1; i <= 100; ++i) condensed.add(step_of(i, 1.0 / static_cast<double>(i)));
  const auto steps = condensed.steps();
  ASSERT_EQ(steps.size(), 100u);
  for (std::uint64_t i = 1; i <= 100; ++i) {
    EXPECT_EQ(steps[i - 1], step_of(i, 1.0 / static_cast<double>(i)));
  }
}

TEST(CondensedRun, MillionsOfStepsAreFewGroupsWithTheSameTotals) {
  CondensedRun condensed;
  constexpr std::uint64_t kSteps = 1'000'000;
  for (std::uint64_t i = 1; i <= kSteps; ++i) condensed.add(step_of(i, 2));
  const auto steps = condensed.steps();
  EXPECT_LE(steps.size(), CondensedRun::kGroupsMax);
  EXPECT_GE(steps.size(), CondensedRun::kGroupsMax / 3);
  Traffic traffic;
  for (const auto& step : steps) {
    traffic += step.traffic;
    EXPECT_EQ(step.metrics.loss, 2);
  }
  EXPECT_EQ(traffic.bytes_sent, 10 * kSteps);
  EXPECT_EQ(condensed.totals().steps, kSteps);
  EXPECT_EQ(condensed.totals().traffic.bytes_received, 20 * kSteps);
  EXPECT_DOUBLE_EQ(condensed.totals().seconds, 0.5 * kSteps);
  EXPECT_EQ(steps.back().step, kSteps);
}

TEST(CondensedRun, PointsStandWhereTheirLastStepStood) {
  CondensedRun condensed;
  for (std::uint64_t i = 1; i <= 20'000; ++i) condensed.add(step_of(i, 1));
  const auto counts = condensed.counts();
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}), 20'000u);
  const auto curve = curve_of(run_of(condensed), &record::Metrics::loss, 0.125);
  EXPECT_DOUBLE_EQ(curve.back().spent.compute_seconds, 0.125 * 20'000);
  std::uint64_t bytes = 0;
  for (const auto& step : condensed.steps()) {
    bytes += step.traffic.bytes_sent;
    EXPECT_EQ(bytes, 10 * step.step);
  }
}

TEST(CondensedRun, EvaluationsStayWhereTheyWere) {
  CondensedRun condensed;
  for (std::uint64_t i = 1; i <= 50'000; ++i) {
    record::StepRecord step = step_of(i, 1);
    if (i % 100 == 0) step.metrics.accuracy = static_cast<double>(i);
    condensed.add(step);
  }
  std::uint64_t evaluations = 0;
  for (const auto& step : condensed.steps()) {
    if (!step.metrics.accuracy) continue;
    ++evaluations;
    EXPECT_EQ(*step.metrics.accuracy, static_cast<double>(step.step));
  }
  EXPECT_EQ(evaluations, 500u);
}

TEST(CondensedRun, MoreEvaluationsThanFitAreThinnedAndTheLastOneStays) {
  CondensedRun condensed;
  for (std::uint64_t i = 1; i <= 50'000; ++i) {
    record::StepRecord step = step_of(i, 1);
    step.metrics.gap = static_cast<double>(i);
    condensed.add(step);
    if (i % 5000 == 0) {
      ASSERT_LE(condensed.steps().size(), CondensedRun::kGroupsMax);
    }
  }
  EXPECT_EQ(condensed.steps().back().metrics.gap, 50'000);
  EXPECT_EQ(condensed.totals().final.gap, 50'000);
}

TEST(CondensedRun, NotesAreAllCountedAndSomeAreKept) {
  CondensedRun condensed;
  constexpr std::uint64_t kSteps = 10'000;
  for (std::uint64_t i = 1; i <= kSteps; ++i) {
    record::StepRecord step = step_of(i, 1);
    step.note = stack_note(i <= 10 ? "full" : "coded", {{"codes", 100}});
    condensed.add(step);
  }
  const auto notes = condensed.notes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].counts.notes(), kSteps);
  EXPECT_LE(notes[0].steps.size(), CondensedRun::kNotesMax + 1);
  EXPECT_EQ(notes[0].steps.front().step, 1u);
  EXPECT_EQ(notes[0].steps.back().step, kSteps);
  EXPECT_TRUE(std::ranges::is_sorted(notes[0].steps, {}, &record::StepRecord::step));
  const record::Json document = make_document(std::vector{run_of(condensed)});
  const record::Json& stack = document["notes"][0]["runs"][0];
  EXPECT_EQ(stack["bands"][0]["steps"], 10);
  EXPECT_EQ(stack["bands"][1]["steps"], kSteps - 10);
  ASSERT_EQ(stack["facts"].size(), 1u);  // there is no mean error
  EXPECT_EQ(stack["facts"][0]["value"], 500.0 * kSteps);
}

TEST(CondensedRun, APageOfItIsThatOfTheWholeRunWhereNothingIsLeftOut) {
  report::Run whole{.name = "a"};
  CondensedRun condensed;
  for (std::uint64_t i = 1; i <= 500; ++i) {
    record::StepRecord step = step_of(i, 1.0 / static_cast<double>(i));
    step.note = stack_note(i <= 10 ? "full" : "coded", {{"codes", i}});
    if (i % 50 == 0) step.metrics.test_loss = 2;
    whole.steps.push_back(step);
    condensed.add(step);
  }
  whole.record = condensed.totals();
  EXPECT_EQ(make_document(std::vector{run_of(condensed)}), make_document(std::vector{whole}));
}

}  // namespace
}  // namespace gradwire::report
