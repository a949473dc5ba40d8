#include "cli/test_program.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"
#include "record/run_record.h"
#include "record/step_records.h"

namespace gradwire::cli {
namespace {

class ReportCommand : public testing::Test {
 protected:
  std::string add_run(const std::string& name) {
    const std::filesystem::path path = directory / name;
    std::filesystem::create_directories(path);
    record::RunRecord record;
    record.method = "natural";
    record::write_run(path / record::kRunFile, record);
    record::StepWriter(path / record::kStepsFile).write({});
    return path;
  }

  const TestDirectory directory;
};

TEST_F(ReportCommand, PageOfOneRunIsInItsDirectory) {
  const std::string run = add_run("a");
  const Outcome outcome = gradwire({"report", run});
  EXPECT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "wrote " + run + "/report.html: 1 run\n");
  EXPECT_TRUE(read_text(run + "/report.html").starts_with("<!doctype html>"));
}

TEST_F(ReportCommand, PageOfSeveralRunsIsWhereOutSays) {
  const std::string out = directory / "both.html";
  const Outcome outcome = gradwire({"report", add_run("a"), add_run("b"), "--out", out, "--json"});
  EXPECT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_EQ(outcome.json(), (Json{{"page", out}, {"runs", 2}}));
  EXPECT_TRUE(contains(read_text(out), "natural (a)"));
  EXPECT_EQ(directory.names(), (std::vector<std::string>{"a", "b", "both.html"}));
}

TEST_F(ReportCommand, RunThatHasNotFinishedIsRefusedAndNoPageAppears) {
  const std::string run = add_run("a");
  std::filesystem::remove(run + "/run.json");
  const Outcome outcome = gradwire({"report", run});
  EXPECT_EQ(outcome.exit_code, kFailed);
  EXPECT_EQ(outcome.err,
            "gradwire: " + run + ": has not finished; resume it with train --resume\n");
  EXPECT_FALSE(std::filesystem::exists(run + "/report.html"));
}

TEST_F(ReportCommand, NeedsADirectory) {
  EXPECT_EQ(gradwire({"report"}).exit_code, kWrongUsage);
  EXPECT_EQ(gradwire({"report", directory / "absent"}).exit_code, kFailed);
}

}  // namespace
}  // namespace gradwire::cli
