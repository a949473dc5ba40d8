// steps.jsonl: one line for each step, in the order of the steps, each a JSON object. Lines are
// written during the run, so that a killed run leaves its finished steps. The first line is step 1;
// of a member that joined an elastic run, the first step that it took part in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "gradwire/core/telemetry.h"
#include "gradwire/method/note.h"
#include "record/attendance.h"
#include "record/metrics.h"

namespace gradwire::record {

inline constexpr const char* kStepsFile = "steps.jsonl";

struct StepRecord {
  std::uint64_t step = 0;  // counted from 1
  Metrics metrics = {};    // of the model after the step; empty if it was not evaluated
  double learning_rate = 0;
  Traffic traffic = {};       // the mean over the workers
  std::uint64_t uploads = 0;  // of all workers together
  std::uint64_t uploads_skipped = 0;
  bool poisoned = false;
  Phases phases = {};  // of rank 0; written as milliseconds
  double seconds = 0;  // wall-clock time on rank 0
  // The method's note, from rank 0. Rows may be means over the workers: see NoteTable.
  std::optional<Note> note = {};
  std::optional<Attendance> attendance = {};  // of elastic runs
  // Balanced runs: the samples of each worker in a step, at the first step with these.
  std::optional<std::vector<std::uint32_t>> shares = {};
  // With --grace: the ranks that came too late to be counted; written only if there are any.
  std::vector<std::size_t> late = {};

  bool operator==(const StepRecord&) const = default;
};

// Appends to a file. Throws FileError, as all members do. For one thread at a time.
class StepWriter {
 public:
  // Keeps the first `steps_kept` lines of an existing file, and appends to them. Throws for a file
  // with fewer lines.
  explicit StepWriter(const std::filesystem::path& path, std::uint64_t steps_kept = 0);

  // When it returns, the operating system has the lines: they survive a crash of this process.
  void write(std::span<const StepRecord> steps);

 private:
  std::filesystem::path path_;
  std::ofstream file_;
};

// One line of the file. `kinds` are those of the notes that it may have: gradwire::note_kinds().
// Throws Error that says what is wrong.
StepRecord parse_step(std::string_view line, std::span<const NoteKind* const> kinds);

// Ignores an unfinished last line, which a killed run leaves. Throws FileError with the line number
// for any other line that is not the record of the next step.
std::vector<StepRecord> read_steps(const std::filesystem::path& path);

}  // namespace gradwire::record
