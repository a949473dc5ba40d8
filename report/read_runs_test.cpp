#include "report/read_runs.h"

#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire::report {
namespace {

// In a test's body Run is GoogleTest's.
using Runs = std::vector<Run>;

class ReadRuns : public testing::Test {
 protected:
  // Writes a run's directory, and returns it.
  std::filesystem::path add_run(const std::string& name, const std::string& method) {
    const std::filesystem::path path = directory / name;
    std::filesystem::create_directories(path);
    record::RunRecord record;
    record.method = method;
    record.steps = 1;
    record::write_run(path / record::kRunFile, record);
    const std::vector<record::StepRecord> steps = {{.step = 1}};
    record::StepWriter(path / record::kStepsFile).write(steps);
    return path;
  }

  static std::vector<std::string> names(const Runs& runs) {
    std::vector<std::string> names;
    for (const auto& run : runs) names.push_back(run.name);
    return names;
  }

  static std::string refusal(const std::filesystem::path& path) {
    return message_of<FileError>([&] { read_runs({path}); });
  }

  const TestDirectory directory;
};

using Names = std::vector<std::string>;

TEST_F(ReadRuns, TakesRunsAndNamesThemAfterTheirMethods) {
  const Runs runs = read_runs({add_run("a", "none"), add_run("b", "natural")});
  EXPECT_EQ(names(runs), (Names{"none", "natural"}));
  EXPECT_EQ(runs[0].steps.size(), 1u);
}

TEST_F(ReadRuns, RunsOfTheSameMethodAreToldApartByTheirDirectories) {
  add_run("y/a", "none");
  const Runs runs =
      read_runs({add_run("a", "none"), add_run("b", "none") / "", add_run("c", "natural")});
  EXPECT_EQ(names(runs), (Names{"none (a)", "none (b)", "natural"}));
  const Names same = names(read_runs({directory / "a", directory / "y/a"}));
  EXPECT_NE(same[0], same[1]);
}

TEST_F(ReadRuns, TakesTheRunsOfAComparisonInItsOrder) {
  add_run("two", "natural");
  add_run("one", "none");
  write_text(directory / kCompareFile, R"({"runs": [{"directory": "two"}, {"directory": "one"}]})");
  EXPECT_EQ(names(read_runs({directory / "."})), (Names{"natural", "none"}));
}

TEST_F(ReadRuns, SaysWhatIsWrongWithADirectory) {
  const std::filesystem::path absent = directory / "absent";
  EXPECT_EQ(refusal(absent), absent.string() + ": there is no such directory");
  write_text(directory / "file", "");
  EXPECT_EQ(refusal(directory / "file"), (directory / "file").string() + ": is not a directory");
  std::filesystem::create_directory(directory / "other");
  EXPECT_EQ(refusal(directory / "other"),
            (directory / "other").string() +
                ": is not a run's directory: it has no run.json, and no compare.json");
}

TEST_F(ReadRuns, RefusesARunThatHasNotFinishedAloneAndInAComparison) {
  const std::filesystem::path path = add_run("half", "none");
  std::filesystem::remove(path / record::kRunFile);
  const std::string what = path.string() + ": has not finished; resume it with train --resume";
  EXPECT_EQ(refusal(path), what);
  write_text(directory / kCompareFile, R"({"runs": [{"directory": "half"}]})");
  EXPECT_EQ(refusal(directory / ""), what);
}

TEST_F(ReadRuns, NamesTheFileAndTheLineOfADamagedRecord) {
  const std::filesystem::path steps = add_run("a", "none") / record::kStepsFile;
  write_text(steps, read_text(steps) + "{\"step\": \n");
  EXPECT_EQ(refusal(directory / "a"), steps.string() + ": line 2: is not JSON");
  const std::filesystem::path compare = directory / kCompareFile;
  write_text(compare, R"({"runs": [{}]})");
  EXPECT_EQ(refusal(directory / ""), compare.string() + ": the field 'directory' is missing");
  write_text(compare, R"({"runs": []})");
  EXPECT_EQ(refusal(directory / ""), compare.string() + ": names no run");
}

}  // namespace
}  // namespace gradwire::report
