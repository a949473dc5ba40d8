// The output directories of runs: their names, and the checks before they are written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "record/run_record.h"
#include "record/step_records.h"
#include "session/train_options.h"

namespace gradwire::session {

// One run: a method, and the directory of its record.
struct RunPlan {
  std::string method;
  std::filesystem::path directory;
  std::filesystem::path tensorboard = {};  // the directory of its event files; empty: none
};

struct FinishedRun {
  std::filesystem::path directory;
  record::RunRecord record;
  std::vector<record::StepRecord> steps;
};

// A text as a file name: every character but letters, digits and a few others becomes a dash.
std::string safe_name(const std::string& text);

// The directory of --out; otherwise one below runs/, named after the model, the data and `what`.
std::filesystem::path output_directory(const TrainOptions& options, const std::string& what);

// Throws UsageError if the directory contains a run, unless it may be overwritten or resumed.
void check_directory(const std::filesystem::path& directory, const TrainOptions& options);

// Creates the directory and removes the files of an earlier run. A run that was killed before its
// first checkpoint starts again. Called after all checks, right before the first step. Throws
// FileError, also if the earlier run had another configuration or was finished.
void prepare_directory(const std::filesystem::path& directory, const TrainOptions& options,
                       std::uint64_t resumed_from, const record::Json& configuration);

// Writes start.json: what is known of the run before it has results. Throws FileError.
void write_start(const std::filesystem::path& directory, record::RunRecord record,
                 std::uint64_t steps_planned);

}  // namespace gradwire::session
