#include "report/read_runs.h"

#include <map>

#include "gradwire/core/error.h"
#include "gradwire/file/file_failure.h"
#include "record/fields.h"

namespace gradwire::report {
namespace {

namespace fs = std::filesystem;

struct FoundRun {
  fs::path directory;
  Run run;
};

FoundRun read_run(const fs::path& directory) {
  return {directory,
          {.record = record::read_run(directory / record::kRunFile),
           .steps = record::read_steps(directory / record::kStepsFile)}};
}

[[noreturn]] void fail_without_run(const fs::path& directory) {
  if (!fs::exists(directory)) fail_file(directory, "there is no such directory");
  if (!fs::is_directory(directory)) fail_file(directory, "is not a directory");
  if (fs::exists(directory / record::kStepsFile)) {
    fail_file(directory, "has not finished; resume it with train --resume");
  }
  fail_file(directory, "is not a run's directory: it has no run.json, and no compare.json");
}

std::vector<fs::path> compared(const fs::path& directory) {
  const fs::path path = directory / kCompareFile;
  const record::Json document = record::read_json_file(path);
  std::vector<fs::path> directories;
  try {
    for (const record::Json& run : record::field<record::Json>(document, "runs")) {
      directories.push_back(directory / record::field<std::string>(run, "directory"));
    }
  } catch (const Error& error) {
    fail_file(path, error.what());
  }
  if (directories.empty()) fail_file(path, "names no run");
  return directories;
}

void read_into(std::vector<FoundRun>& found, const fs::path& directory) {
  if (fs::exists(directory / record::kRunFile)) {
    found.push_back(read_run(directory));
    return;
  }
  if (!fs::exists(directory / kCompareFile)) fail_without_run(directory);
  for (const fs::path& below : compared(directory)) {
    if (!fs::exists(below / record::kRunFile)) fail_without_run(below);
    found.push_back(read_run(below));
  }
}

// "runs/none/" and "." have a name, too.
std::string last_name(const fs::path& directory) {
  const fs::path whole = fs::absolute(directory).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

// Adds to the names that several runs have.
template <class Addition>
void tell_apart(std::vector<FoundRun>& found, Addition addition_of) {
  std::map<std::string, int> runs_of_name;
  for (const FoundRun& each : found) ++runs_of_name[each.run.name];
  for (FoundRun& each : found) {
    if (runs_of_name[each.run.name] > 1) each.run.name += " (" + addition_of(each.directory) + ")";
  }
}

}  // namespace

std::vector<Run> read_runs(const std::vector<fs::path>& directories) {
  std::vector<FoundRun> found;
  for (const fs::path& directory : directories) read_into(found, directory);
  for (FoundRun& each : found) each.run.name = each.run.record.method;
  tell_apart(found, last_name);
  tell_apart(found, [](const fs::path& directory) { return directory.string(); });
  std::vector<Run> runs;
  for (FoundRun& each : found) runs.push_back(std::move(each.run));
  return runs;
}

}  // namespace gradwire::report
