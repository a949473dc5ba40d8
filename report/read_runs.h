// Runs as they lie in their directories, for a page.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "report/page.h"

namespace gradwire::report {

inline constexpr const char* kPageFile = "report.html";
inline constexpr const char* kCompareFile = "compare.json";

// A directory is a run's, with run.json and steps.jsonl, or a comparison's, with compare.json,
// which names directories of runs below it: {"runs": [{"directory": "none"}, ...]}. Runs are named
// after their methods; those of the same method get their directories' names, too. Throws
// FileError, also for a run that has not finished.
std::vector<Run> read_runs(const std::vector<std::filesystem::path>& directories);

// Adds to the names that several runs have: the names of their directories, or their whole paths.
void tell_runs_apart(std::span<const std::filesystem::path> directories,
                     std::vector<std::string>& names);

}  // namespace gradwire::report
