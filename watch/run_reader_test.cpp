#include "watch/run_reader.h"

#include <filesystem>

#include "gtest/gtest.h"
#include "report/document.h"
#include "watch/record_test_support.h"

namespace gradwire::watch {
namespace {

using Phase = RunState::Phase;

constexpr std::size_t kAll = 64 << 20;

class RunReaderTest : public testing::Test {
 protected:
  RunState state(double seconds_later = 0) {
    while (reader.read(kAll)) {
    }
    const RunState first = reader.state(0);
    return reader.state(first.written_at + seconds_later);
  }

  const TestDirectory directory;
  const std::filesystem::path run = directory / "run";
  RunReader reader{run};
};

TEST_F(RunReaderTest, WaitsForARunThatBeginsLater) {
  EXPECT_FALSE(is_run_directory(run));
  EXPECT_EQ(state().phase, Phase::waiting);
  begin_run(run, "natural", 100);
  EXPECT_TRUE(is_run_directory(run));
  EXPECT_EQ(state().phase, Phase::waiting);
  EXPECT_EQ(state().name, "natural");
  append_steps(run, 1, 3);
  EXPECT_EQ(state().phase, Phase::running);
  EXPECT_EQ(state().step, 3u);
}

TEST_F(RunReaderTest, TotalsAreThoseOfTheSteps) {
  begin_run(run, "natural", 100);
  append_steps(run, 1, 10);
  state();
  append_steps(run, 11, 20);
  const RunState now = state();
  EXPECT_EQ(now.step, 20u);
  EXPECT_EQ(now.steps_planned, 100u);
  EXPECT_EQ(now.workers, 4u);
  EXPECT_EQ(now.traffic.bytes_sent, 2000u);
  EXPECT_EQ(now.traffic.bytes_received, 6000u);
  EXPECT_EQ(now.uploads, 80u);
  EXPECT_DOUBLE_EQ(now.phases.compute_seconds, 5);
  EXPECT_DOUBLE_EQ(now.seconds, 15);
  EXPECT_DOUBLE_EQ(now.exposed_seconds, 10);
  EXPECT_NEAR(now.steps_per_second, 1 / 0.75, 1e-12);
  EXPECT_EQ(now.metrics.loss, 1.0 / 20);
  EXPECT_EQ(now.learning_rate, 0.5);
}

TEST_F(RunReaderTest, ARunWithoutNewStepsIsQuietAndAFinishedOneIsNot) {
  begin_run(run, "natural", 3);
  append_steps(run, 1, 3);
  EXPECT_EQ(state(10).phase, Phase::running);
  EXPECT_EQ(state(1000).phase, Phase::quiet);
  end_run(run, "natural", 3);
  EXPECT_EQ(state(1000).phase, Phase::finished);
  EXPECT_EQ(state().metrics.loss, 0.125);  // that of run.json
}

TEST_F(RunReaderTest, ARunJsonOfARunThatGoesOnIsNotItsEnd) {
  std::filesystem::create_directories(run);
  record::write_run(run / record::kRunFile, start_record("natural", 0));
  append_steps(run, 1, 3);
  EXPECT_EQ(state().phase, Phase::running);
  EXPECT_EQ(state().name, "natural");
}

TEST_F(RunReaderTest, AResumedRunGoesOnFromWhereItWasCutBack) {
  begin_run(run, "natural", 30);
  append_steps(run, 1, 20);
  EXPECT_EQ(state().step, 20u);
  record::StepWriter(run / record::kStepsFile, 15);
  EXPECT_EQ(state().step, 15u);
  append_steps(run, 16, 30);
  const RunState now = state();
  EXPECT_EQ(now.step, 30u);
  EXPECT_EQ(now.steps_seen, 30u);
  EXPECT_EQ(now.traffic.bytes_sent, 3000u);
}

TEST_F(RunReaderTest, ARunInThePlaceOfAnEarlierOneHasStepsOfItsOwn) {
  begin_run(run, "natural", 20);
  append_steps(run, 1, 20);
  end_run(run, "natural", 20);
  EXPECT_EQ(state().phase, Phase::finished);
  for (const char* file : {record::kRunFile, record::kStepsFile, record::kStartFile}) {
    std::filesystem::remove(run / file);
  }
  EXPECT_EQ(state().phase, Phase::waiting);
  begin_run(run, "none", 50);
  append_steps(run, 1, 2);
  const RunState now = state();
  EXPECT_EQ(now.name, "none");
  EXPECT_EQ(now.step, 2u);
  EXPECT_EQ(now.phase, Phase::running);
}

TEST_F(RunReaderTest, ADamagedRecordSaysWhereAndIsReadAgainWhenItIsMended) {
  begin_run(run, "natural", 20);
  append_steps(run, 1, 2);
  append_text(run / record::kStepsFile, "{\"step\": 3}\n");
  RunState now = state();
  EXPECT_EQ(now.phase, Phase::damaged);
  EXPECT_EQ(now.problem, "steps.jsonl: line 3: the field 'learning_rate' is missing");
  EXPECT_EQ(now.step, 2u);
  record::StepWriter(run / record::kStepsFile, 2);
  EXPECT_EQ(state().phase, Phase::running);
  write_text(run / record::kStartFile, "{");
  EXPECT_EQ(state().phase, Phase::damaged);
}

TEST_F(RunReaderTest, AConfigurationOfAnOlderProgramNamesTheMethod) {
  std::filesystem::create_directories(run);
  write_text(run / "configuration.json", R"({"method": "fp16", "workers": 3, "model": "cnn"})");
  EXPECT_EQ(state().name, "fp16");
  EXPECT_EQ(state().workers, 3u);
}

TEST_F(RunReaderTest, MembersOfAnElasticRunAreThoseOfItsLastStep) {
  begin_run(run, "natural", 20);
  record::ViewWriter views(run / record::kViewsFile, false);
  views.write({.view = 1, .step = 0, .members = {{"aaaaaaaa1", "x:1"}, {"bbbbbbbb2", "y:2"}}});
  record::StepWriter writer(run / record::kStepsFile);
  record::StepRecord step = step_of(1);
  step.attendance = record::Attendance{.view = 1, .members = 2};
  writer.write({&step, 1});
  EXPECT_EQ(state().workers, 2u);
  views.write({.view = 2,
               .step = 1,
               .members = {{"aaaaaaaa1", "x:1"}},
               .departed = {{"bbbbbbbb2", "silent", true}}});
  step = step_of(2);
  step.attendance = record::Attendance{.view = 2, .members = 1};
  writer.write({&step, 1});
  const RunState now = state();
  EXPECT_TRUE(now.is_elastic);
  EXPECT_EQ(now.workers, 1u);
  EXPECT_EQ(now.views, 2u);
  EXPECT_EQ(now.members_lost, 1u);
  const record::Json document = report::make_document(std::vector{reader.run()});
  EXPECT_EQ(document["members"][0]["lanes"].size(), 2u);
}

TEST_F(RunReaderTest, OnlyStepsAndDocumentsChangeTheVersion) {
  begin_run(run, "natural", 20);
  append_steps(run, 1, 2);
  state();
  const std::uint64_t version = reader.version();
  state();
  EXPECT_EQ(reader.version(), version);
  append_text(run / record::kStepsFile, "{\"half\": ");
  state();
  EXPECT_EQ(reader.version(), version);
  EXPECT_EQ(state().phase, Phase::running);
}

TEST_F(RunReaderTest, ALongRecordIsReadInParts) {
  begin_run(run, "natural", 5000);
  append_steps(run, 1, 5000);
  EXPECT_TRUE(reader.read(1 << 16));
  EXPECT_EQ(reader.state(0).phase, Phase::reading);
  EXPECT_LT(reader.state(0).share_read, 0.5);
  EXPECT_EQ(state().step, 5000u);
  EXPECT_LE(reader.run().steps.size(), report::CondensedRun::kGroupsMax);
}

TEST(RunState, ComesBackFromItsJson) {
  const RunState state{.name = "ef(topk(1%))",
                       .directory = "a",
                       .phase = Phase::running,
                       .step = 1200,
                       .steps_planned = 5000,
                       .steps_per_second = 31.25,
                       .workers = 3,
                       .is_elastic = true,
                       .metrics = {.loss = 0.4125, .accuracy = 0.5}};
  const std::string words =
      "ef(topk(1%)): step 1,200 of 5,000, loss 0.4125, accuracy 50.00%, 3 members, 31.2 steps/s, 2 "
      "min 02 s left";
  EXPECT_EQ(words_of(state), words);
  EXPECT_EQ(words_of(state_from(to_json(state))), words);
  EXPECT_THROW(state_from(record::Json::object()), std::exception);
}

}  // namespace
}  // namespace gradwire::watch
