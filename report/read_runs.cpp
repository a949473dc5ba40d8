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
void tell_apart(std::span<const fs::path> directories, Addition addition_of,
                std::vector<std::string>& names) {
  std::map<std::string, int> runs_of_name;
  for (const std::string& name : names) ++runs_of_name[name];
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (runs_of_name[names[i]] > 1) names[i] += " (" + addition_of(directories[i]) + ")";
  }
}

}  // namespace

void tell_runs_apart(std::span<const fs::path> directories, std::vector<std::string>& names) {
  tell_apart(directories, last_name, names);
  tell_apart(
      directories, [](const fs::path& directory) { return directory.string(); }, names);
}

std::vector<Run> read_runs(const std::vector<fs::path>& directories) {
  std::vector<FoundRun> found;
  for (const fs::path& directory : directories) read_into(found, directory);
  std::vector<fs::path> found_in;
  std::vector<std::string> names;
  for (const FoundRun& each : found) {
    found_in.push_back(each.directory);
    names.push_back(each.run.record.method);
  }
  tell_runs_apart(found_in, names);
  std::vector<Run> runs;
  for (std::size_t i = 0; i < found.size(); ++i) {
    runs.push_back(std::move(found[i].run));
    runs.back().name = names[i];
  }
  return runs;
}

}  // namespace gradwire::report
