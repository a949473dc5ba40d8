// steps.jsonl: one JSON object a line, one line a step, in the order of the steps. Lines are
// written as the run goes, so that a run that was killed leaves what it had.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <vector>

#include "gradwire/core/telemetry.h"
#include "gradwire/method/note.h"
#include "record/metrics.h"

namespace gradwire::record {

inline constexpr const char* kStepsFile = "steps.jsonl";

struct StepRecord {
  std::uint64_t step = 0;  // from 1 on: how many steps were done with it
  Metrics metrics = {};    // of the model that the step left; nothing where nobody looked
  double learning_rate = 0;
  Traffic traffic = {};       // the mean over the workers
  std::uint64_t uploads = 0;  // of all workers together
  std::uint64_t uploads_skipped = 0;
  bool poisoned = false;
  Phases phases = {};  // of rank 0; written as milliseconds
  double seconds = 0;  // by the clock on the wall of rank 0
  // What the method had to say. Rows of rank 0, or the mean over the workers, as the kind has it;
  // all else is rank 0's.
  std::optional<Note> note = {};

  bool operator==(const StepRecord&) const = default;
};

// Appends to a file. Throws FileError, as all members do. For one thread at a time.
class StepWriter {
 public:
  // Begins the file anew, or, with steps_kept, keeps the lines of that many steps and goes on
  // behind them. Refuses a file that has fewer.
  explicit StepWriter(const std::filesystem::path& path, std::uint64_t steps_kept = 0);

  // The lines are in the hands of the system when this returns.
  void write(std::span<const StepRecord> steps);

 private:
  std::filesystem::path path_;
  std::ofstream file_;
};

// A last line without an end is what a killed run was writing, and is left out. Throws FileError
// with the line for anything else that is no record, or not the next step's.
std::vector<StepRecord> read_steps(const std::filesystem::path& path);

}  // namespace gradwire::record
