// The directories that runs leave behind: what they are called, and what may be written there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "record/run_record.h"
#include "record/step_records.h"
#include "session/train_options.h"

namespace gradwire::session {

// One run: a method, and where its record goes.
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

// A text as a file's name: letters, digits and few others, and a dash for the rest.
std::string safe_name(const std::string& text);

// Where --out says, or below runs/, named after the model, the data and `what`.
std::filesystem::path output_directory(const TrainOptions& options, const std::string& what);

// Throws UsageError for a directory that holds a run which nobody said may go.
void check_directory(const std::filesystem::path& directory, const TrainOptions& options);

// Makes it, and removes what an earlier run left there, so that it is not taken for this one's; one
// that was killed before its first checkpoint begins again. Called when nothing can go wrong any
// more that could have been known. Throws FileError, also where the earlier run had another
// configuration or had finished.
void prepare_directory(const std::filesystem::path& directory, const TrainOptions& options,
                       std::uint64_t resumed_from, const record::Json& configuration);

}  // namespace gradwire::session
