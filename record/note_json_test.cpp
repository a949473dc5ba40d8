#include "record/note_json.h"

#include <cmath>
#include <memory>

#include "gradwire/collective/test_support.h"
#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gradwire/method/lgc/code_note.h"
#include "gradwire/method/lgreco/plan_note.h"
#include "gtest/gtest.h"
#include "record/json_file.h"
#include "record/run_record.h"
#include "record/step_log.h"

namespace gradwire::record {
namespace {

Note full_note() {
  return to_note(CodeNote{.phase = "full",
                          .parts = {{"places", 0}, {"codes", 0}, {"full", 4000}},
                          .learn_seconds = 0.5});
}

Note coded_note(double error) {
  return to_note(CodeNote{.phase = "coded",
                          .parts = {{"places", 30}, {"codes", 12}, {"full", 0}},
                          .error = error,
                          .learn_seconds = 0.25,
                          .remark = "The code is used from now on."});
}

Note plan_note(bool has_budget = false) {
  PlanNote plan{.reason = "The first plan.",
                .layers = {{"w", 1000, "qsgd(bits=4)", 500, 0.125}, {"bias", 10, "none", 40, 0}},
                .bytes = 500,
                .uniform_bytes = 800,
                .error = 0.125,
                .uniform_error = 0.25,
                .seconds = 0.002};
  if (has_budget) plan.budget = {.compute_seconds = 0.5, .groups = 3};
  return to_note(plan);
}

Note code_note_from(const Json& json) { return note_from(code_note_kind(), json); }

TEST(CodeRecord, IsAnObjectWithPartsInTheirOrder) {
  EXPECT_EQ(to_json(full_note()).dump(),
            R"({"phase":"full","error":null,"is_estimate":false,"learn_ms":500.0,)"
            R"("parts":{"places":0,"codes":0,"full":4000}})");
  const Json coded = to_json(coded_note(0.125));
  EXPECT_EQ(coded["error"], 0.125);
  EXPECT_EQ(coded["remark"], "The code is used from now on.");
}

TEST(CodeRecord, ComesBackAsItWasWritten) {
  for (const Note& note : {full_note(), coded_note(0.1), to_note(CodeNote{.phase = "sparse"}),
                           plan_note(false), plan_note(true)}) {
    EXPECT_EQ(note_from(*note.kind, to_json(note)), note);
  }
}

TEST(PlanRecord, IsAnObjectWithAListOfLayers) {
  EXPECT_EQ(to_json(plan_note()).dump(),
            R"j({"reason":"The first plan.","bytes":500.0,"uniform_bytes":800.0,"error":0.125,)j"
            R"j("uniform_error":0.25,"planning_ms":2.0,"layers":[{"name":"w","elements":1000,)j"
            R"j("choice":"qsgd(bits=4)","bits":4.0,"bytes":500.0,"error":0.125},{"name":"bias",)j"
            R"j("elements":10,"choice":"none","bits":32.0,"bytes":40.0,"error":0.0}]})j");
}

TEST(PlanRecord, BudgetIsAnObjectInIt) {
  EXPECT_FALSE(to_json(plan_note()).contains("budget"));
  EXPECT_EQ(to_json(plan_note(true))["budget"].dump(),
            R"({"compute_ms":500.0,"link_bytes_per_second":0.0,"latency_ms":0.0,"groups":3,)"
            R"("hidden_room_ms":0.0,"hidden_ms":0.0,"visible_ms":0.0})");
}

TEST(PlanRecord, NumberThatIsNotFiniteIsNullAndRead) {
  Json plan = to_json(plan_note());
  plan["layers"][0]["bits"] = nullptr;
  const Note note = note_from(plan_note_kind(), plan);
  EXPECT_FALSE(number_of(note.cell(0, "bits")));
  plan["layers"] = 3;
  EXPECT_EQ(message_of<Error>([&] { note_from(plan_note_kind(), plan); }),
            "the field 'layers' is of another type");
}

// From a method's report to the step's line, back, and into the record of the run.
TEST(PlanRecord, GoesWithItsStep) {
  const TestDirectory directory;
  MethodReport report;
  report.note = std::make_shared<Note>(plan_note(true));
  std::vector<StepRecord> steps = {{.step = 1}, {.step = 2}};
  note_report(report, steps[1]);
  StepWriter(directory / kStepsFile).write(steps);
  EXPECT_EQ(read_steps(directory / kStepsFile), steps);
  RunRecord run;
  add_totals(steps, run);
  const Json plans = to_json(run)["plans"];
  ASSERT_EQ(plans.size(), 1U);
  EXPECT_EQ(plans[0]["step"], 2);
  EXPECT_EQ(plans[0]["layers"].size(), 2U);
  EXPECT_EQ(run_from_json(to_json(run)), run);
  EXPECT_EQ(to_json(RunRecord())["plans"], Json::array());
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
  EXPECT_EQ(message("parts", {{"codes", -1}}), "the bytes of the part 'codes' are not a count");
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
  report.note = std::make_shared<Note>(coded_note(0.1));
  std::vector<StepRecord> steps = {{.step = 1}, {.step = 2}};
  note_report(report, steps[1]);
  StepWriter(directory / kStepsFile).write(steps);
  const std::string text = read_text(directory / kStepsFile);
  EXPECT_EQ(text.substr(0, text.find('\n')).find("\"code\""), std::string::npos);
  EXPECT_EQ(read_steps(directory / kStepsFile), steps);
  RunRecord run;
  add_totals(steps, run);
  EXPECT_EQ(run_from_json(to_json(run)), run);
  EXPECT_EQ(run.notes["code"]["phases"]["coded"], 1);
}

TEST(CodeRecord, LineWithABadOneIsRefusedWithItsNumber) {
  const TestDirectory directory;
  const auto path = directory / kStepsFile;
  StepWriter(path).write(std::vector<StepRecord>{{.step = 1, .note = full_note()}});
  std::string text = read_text(path);
  text.replace(text.find("\"full\""), 6, "7");
  write_text(path, text);
  EXPECT_EQ(message_of<FileError>([&] { read_steps(path); }),
            path.string() + ": line 1: the field 'phase' is of another type");
}

TEST(CodeRecord, RunWithoutNotesHasNoTotals) {
  RunRecord run;
  add_totals(std::vector<StepRecord>{{.step = 1, .traffic = {.bytes_sent = 5}}}, run);
  EXPECT_TRUE(run.notes.empty());
  EXPECT_FALSE(to_json(run).contains("code"));
}

TEST(CodeTotals, CountPhasesAndAverageTheCodedSteps) {
  NoteTotals totals(code_note_kind());
  totals.add(full_note(), {.bytes_sent = 4000});
  CodeNote sparse{.phase = "sparse", .parts = {{"places", 5}, {"codes", 0}, {"full", 0}}};
  sparse.error = 9;  // while it learns: not of a coded step
  totals.add(to_note(sparse), {.bytes_sent = 900});
  totals.add(coded_note(0.1), {.bytes_sent = 40});
  totals.add(coded_note(0.3), {.bytes_sent = 44});
  totals.add(coded_note(std::nan("")), {.bytes_sent = 48});
  const Json json = to_json(totals);
  EXPECT_EQ(json["phases"].dump(), R"({"full":1,"sparse":1,"coded":3})");
  EXPECT_EQ(json["parts"].dump(), R"({"places":95,"codes":36,"full":4000})");
  EXPECT_EQ(json["coded_bytes_per_step"], 44.0);
  EXPECT_DOUBLE_EQ(json["mean_error"].get<double>(), 0.2);
  EXPECT_EQ(json["learn_ms"], 500.0 + 3 * 250.0);
}

TEST(CodeTotals, WithoutCodedStepsMeansAreNull) {
  NoteTotals totals(code_note_kind());
  totals.add(full_note(), {.bytes_sent = 4000});
  const Json json = to_json(totals);
  EXPECT_EQ(json["phases"]["coded"], 0);
  EXPECT_TRUE(json["coded_bytes_per_step"].is_null());
  EXPECT_TRUE(json["mean_error"].is_null());
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
                     .note = coded_note(0.1)};
      own.note->set("error", 0.1 + static_cast<double>(communicator.rank()));
      for (auto& part : own.note->rows) std::get<std::uint64_t>(part[1]) += communicator.rank();
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
    EXPECT_EQ(number_of(step.note->get("error")), 0.1);  // rank 0's
    EXPECT_EQ(to_json(*step.note)["parts"].dump(), R"({"places":31,"codes":13,"full":1})");
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
  EXPECT_FALSE(steps[1].note);
}

}  // namespace
}  // namespace gradwire::record
