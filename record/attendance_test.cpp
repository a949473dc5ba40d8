#include "record/attendance.h"

#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"
#include "record/run_record.h"
#include "record/step_records.h"

namespace gradwire::record {
namespace {

const ViewRecord kView{.view = 3,
                       .step = 120,
                       .members = {{"aa", "10.0.0.1:5000"}, {"bb", "10.0.0.2:5000"}},
                       .joined = {"bb"},
                       .departed = {{"cc", "closed", true}, {"dd", "left", false}},
                       .change_seconds = 0.25,
                       .text = "cc was lost"};

TEST(Attendance, StepsAndViewsComeBackAsTheyWereWritten) {
  const TestDirectory directory;
  const StepRecord step{
      .step = 7,
      .attendance = Attendance{
          .view = 2, .members = 5, .attempts = 2, .epoch = 1, .samples = {{0, 10}, {20, 30}}}};
  StepRecord next{.step = 8};
  StepWriter(directory / kStepsFile).write(std::array{step, next});
  EXPECT_EQ(read_steps(directory / kStepsFile), (std::vector{step, next}));
  EXPECT_EQ(view_from(to_json(kView)), kView);
}

TEST(Attendance, ViewsAreWrittenDuringTheRun) {
  const TestDirectory directory;
  const auto path = directory / kViewsFile;
  ViewWriter(path, false).write(kView);
  ViewWriter(path, true).write(kView);
  const std::string line = to_json(kView).dump() + '\n';
  EXPECT_EQ(read_text(path), line + line);
}

TEST(Attendance, RunRecordsHaveViewsOnlyIfTheRunIsElastic) {
  RunRecord record;
  EXPECT_FALSE(to_json(record).contains("views"));
  record.views.push_back(to_json(kView));
  EXPECT_EQ(run_from_json(to_json(record)), record);
}

TEST(Attendance, MissingFieldIsNamed) {
  Json view = to_json(kView);
  view.erase("joined");
  EXPECT_EQ(message_of<Error>([&] { view_from(view); }), "the field 'joined' is missing");
}

}  // namespace
}  // namespace gradwire::record
