#include "record/code_record.h"

#include <cmath>
#include <memory>

#include "gradwire/collective/test_support.h"
#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"
#include "record/step_log.h"

namespace gradwire::record {
namespace {

CodeNote full_note() {
  return {.phase = "full",
          .parts = {{"places", 0}, {"codes", 0}, {"full", 4000}},
          .learn_seconds = 0.5};
}

CodeNote coded_note(double error) {
  return {.phase = "coded",
          .parts = {{"places", 30}, {"codes", 12}, {"full", 0}},
          .error = error,
          .learn_seconds = 0.25,
          .remark = "The code is used from now on."};
}

TEST(CodeRecord, IsAnObjectWithPartsInTheirOrder) {
  EXPECT_EQ(to_json(full_note()).dump(),
            R"({"phase":"full","error":null,"is_estimate":false,"learn_ms":500.0,)"
            R"("parts":{"places":0,"codes":0,"full":4000}})");
  const Json coded = to_json(coded_note(0.125));
  EXPECT_EQ(coded["error"], 0.125);
  EXPECT_EQ(coded["remark"], "The code is used from now on.");
}

TEST(CodeRecord, ComesBackAsItWasWritten) {
  for (const CodeNote& note : {full_note(), coded_note(0.1), CodeNote{.phase = "sparse"}}) {
    EXPECT_EQ(code_note_from(to_json(note)), note);
  }
}

TEST(CodeRecord, FieldThatIsMissingOrOfAnotherTypeIsNamed) {
  const auto message = [](const char* name, const Json& value) {
    Json json = to_json(coded_note(0.1));
    json[name] = value;
    return message_of<Error>([&] { code_note_from(json); });
  };
  EXPECT_EQ(message("phase", 3), "the field 'phase' is of another type");
  EXPECT_EQ(message("error", "small"), "the field 'error' is of another type");
  EXPECT_EQ(message("learn_ms", nullptr), "the field 'learn_ms' is of another type");
  EXPECT_EQ(message("parts", {1, 2}), "the field 'parts' is of another type");
  EXPECT_EQ(message("parts", {{"codes", -1}}), "the bytes of the part 'codes' are no count");
  EXPECT_EQ(message("remark", 1), "the field 'remark' is of another type");
  Json json = to_json(full_note());
  json.erase("error");
  EXPECT_EQ(message_of<Error>([&] { code_note_from(json); }), "the field 'error' is missing");
  EXPECT_EQ(message_of<Error>([] { code_note_from(3); }), "the field 'phase' is missing");
}

// From a method's report to the step's line, back, and into the record of the run.
TEST(CodeRecord, GoesWithItsStep) {
  const TestDirectory directory;
  MethodReport report;
  report.code = std::make_shared<CodeNote>(coded_note(0.1));
  std::vector<StepRecord> steps = {{.step = 1}, {.step = 2}};
  note_report(report, steps[1]);
  StepWriter(directory / kStepsFile).write(steps);
  const std::string text = read_text(directory / kStepsFile);
  EXPECT_EQ(text.substr(0, text.find('\n')).find("\"code\""), std::string::npos);
  EXPECT_EQ(read_steps(directory / kStepsFile), steps);
  RunRecord run;
  add_totals(steps, run);
  EXPECT_EQ(run_from_json(to_json(run)), run);
  EXPECT_EQ(run.code["phases"]["coded"], 1);
}

TEST(CodeRecord, LineWithABadOneIsRefusedWithItsNumber) {
  const TestDirectory directory;
  const auto path = directory / kStepsFile;
  StepWriter(path).write(std::vector<StepRecord>{{.step = 1, .code = full_note()}});
  std::string text = read_text(path);
  text.replace(text.find("\"full\""), 6, "7");
  write_text(path, text);
  EXPECT_EQ(message_of<FileError>([&] { read_steps(path); }),
            path.string() + ": line 1: the field 'phase' is of another type");
}

TEST(CodeRecord, RunWithoutNotesHasNoTotals) {
  RunRecord run;
  add_totals(std::vector<StepRecord>{{.step = 1, .traffic = {.bytes_sent = 5}}}, run);
  EXPECT_TRUE(run.code.is_null());
  EXPECT_FALSE(to_json(run).contains("code"));
}

TEST(CodeTotals, CountPhasesAndAverageTheCodedSteps) {
  CodeTotals totals;
  totals.add(full_note(), 4000);
  CodeNote sparse{.phase = "sparse", .parts = {{"places", 5}, {"codes", 0}, {"full", 0}}};
  sparse.error = 9;  // while it learns: not of a coded step
  totals.add(sparse, 900);
  totals.add(coded_note(0.1), 40);
  totals.add(coded_note(0.3), 44);
  totals.add(coded_note(std::nan("")), 48);
  const Json json = totals.to_json();
  EXPECT_EQ(json["phases"].dump(), R"({"full":1,"sparse":1,"coded":3})");
  EXPECT_EQ(json["parts"].dump(), R"({"places":95,"codes":36,"full":4000})");
  EXPECT_EQ(json["coded_bytes_per_step"], 44.0);
  EXPECT_DOUBLE_EQ(json["mean_error"].get<double>(), 0.2);
  EXPECT_EQ(json["learn_ms"], 500.0 + 3 * 250.0);
}

TEST(CodeTotals, WithoutCodedStepsMeansAreNull) {
  CodeTotals totals;
  EXPECT_TRUE(totals.to_json().is_null());
  totals.add(full_note(), 4000);
  EXPECT_EQ(totals.to_json()["phases"]["coded"], 0);
  EXPECT_TRUE(totals.to_json()["coded_bytes_per_step"].is_null());
  EXPECT_TRUE(totals.to_json()["mean_error"].is_null());
}

// Rank r sends r more bytes in every part: 0, 1 and 2, which is 1 on average.
TEST(StepLog, BytesOfPartsAreTheMeanOverTheRanks) {
  const TestDirectory directory;
  const auto path = directory / kStepsFile;
  run_communicators(3, [&](Communicator& communicator) {
    StepLog log(communicator);
    if (communicator.rank() == 0) log.open(path, 0);
    for (std::uint64_t step = 1; step <= 2; ++step) {
      StepRecord own{.step = step,
                     .traffic = {.bytes_sent = 100 + communicator.rank()},
                     .code = coded_note(0.1)};
      own.code->error = 0.1 + static_cast<double>(communicator.rank());
      for (CodeNote::Part& part : own.code->parts) part.bytes += communicator.rank();
      log.add(own, {.loss = 3, .samples = 2});
    }
    const std::vector<std::uint64_t> others = {5, 7};
    EXPECT_EQ(log.meet({}, others), (std::vector<std::uint64_t>{15, 21}));
  });
  const std::vector<StepRecord> steps = read_steps(path);
  ASSERT_EQ(steps.size(), 2U);
  for (const StepRecord& step : steps) {
    EXPECT_EQ(step.traffic.bytes_sent, 101U);
    EXPECT_EQ(step.metrics.loss, 1.5);
    EXPECT_EQ(step.code->error, 0.1);  // rank 0's
    EXPECT_EQ(step.code->parts,
              (std::vector<CodeNote::Part>{{"places", 31}, {"codes", 13}, {"full", 1}}));
  }
}

TEST(StepLog, StepsWithoutACodeAreAddedUpAsEver) {
  const TestDirectory directory;
  const auto path = directory / kStepsFile;
  run_communicators(2, [&](Communicator& communicator) {
    StepLog log(communicator);
    if (communicator.rank() == 0) log.open(path, 0);
    log.add({.step = 1, .traffic = {.bytes_sent = 10}, .uploads = 1});
    log.add({.step = 2, .traffic = {.bytes_sent = 20 + 2 * communicator.rank()}, .uploads = 1});
    EXPECT_TRUE(log.meet({.loss = 0.5}, {}).empty());
  });
  const std::vector<StepRecord> steps = read_steps(path);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[1].traffic.bytes_sent, 21U);
  EXPECT_EQ(steps[1].uploads, 2U);
  EXPECT_EQ(steps[1].metrics.loss, 0.5);
  EXPECT_FALSE(steps[1].code);
}

}  // namespace
}  // namespace gradwire::record
