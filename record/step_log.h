// StepLog: the log of a run's steps, over all ranks. Each rank adds its own steps. At a meeting the
// ranks add up their counts, and rank 0 writes steps.jsonl. One for each rank, for one thread; the
// communicator must outlive it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "gradwire/collective/communicator.h"
#include "gradwire/method/method.h"
#include "gradwire/method/note_totals.h"
#include "record/step_records.h"

namespace gradwire::record {

struct RunRecord;

// The loss of a rank's samples in a step. No samples if losses are not counted.
struct Tally {
  double loss = 0;  // the sum over the samples
  std::uint64_t samples = 0;
};

class StepLog {
 public:
  explicit StepLog(Communicator& communicator) : communicator_(communicator) {}

  // Rank 0 only, before the first add(). Keeps the first `steps_kept` steps of the file, and
  // appends. Throws FileError.
  void open(const std::filesystem::path& path, std::uint64_t steps_kept);

  void add(const StepRecord& own, const Tally& tally = {});
  // The last added step. Not valid right after a meeting.
  StepRecord& last() { return own_.back(); }

  // All ranks call it at the same step. `metrics` of the model after the last step count on rank 0
  // only. Also adds up `others` over the ranks, and returns their sums. Throws FileError and
  // PeerError.
  std::vector<std::uint64_t> meet(const Metrics& metrics, std::span<const std::uint64_t> others);

  // Rank 0 only: all steps of the run up to the last meeting.
  const std::vector<StepRecord>& steps() const { return steps_; }
  std::vector<StepRecord> take_steps() { return std::move(steps_); }

 private:
  // Moves the sums of one step to the step, and returns the rest of the sums.
  std::span<const std::uint64_t> settle(StepRecord& step,
                                        std::span<const std::uint64_t> sums) const;

  Communicator& communicator_;
  std::vector<StepRecord> own_;  // since the last meeting
  std::vector<Tally> tallies_;   // of these
  std::optional<StepWriter> writer_;
  std::vector<StepRecord> steps_;
};

// Copies the report of a method to the record of its step.
void note_report(const MethodReport& report, StepRecord& step);

// The totals of the notes of a kind in these steps.
NoteTotals totals_of(const NoteKind& kind, std::span<const StepRecord> steps);

// Counts the late ranks of a step in the record of its run.
void add_late(const StepRecord& step, RunRecord& record);

// Adds the totals of the steps to the record of their run.
void add_totals(std::span<const StepRecord> steps, RunRecord& record);

}  // namespace gradwire::record
