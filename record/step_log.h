// StepLog: the steps of a run on all its ranks. Every rank adds its own; when the ranks meet, their
// counts are added up, and rank 0 writes steps.jsonl. For one thread a rank; the communicator must
// outlive it.
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

// What a rank's samples of a step came to. Nothing where nobody counts them.
struct Tally {
  double loss = 0;  // the sum over the samples
  std::uint64_t samples = 0;
};

class StepLog {
 public:
  explicit StepLog(Communicator& communicator) : communicator_(communicator) {}

  // Rank 0 only, before anything is added: goes on behind that many steps. Throws FileError.
  void open(const std::filesystem::path& path, std::uint64_t steps_kept);

  void add(const StepRecord& own, const Tally& tally = {});
  // The step that was added last; not after a meeting.
  StepRecord& last() { return own_.back(); }

  // All ranks at the same step. `metrics` are those of the model that the last step left, as far as
  // rank 0 knows them. Adds up other numbers on the way, and returns their sums. Throws FileError
  // and PeerError.
  std::vector<std::uint64_t> meet(const Metrics& metrics, std::span<const std::uint64_t> others);

  // Rank 0 only: all steps of the run up to the last meeting.
  const std::vector<StepRecord>& steps() const { return steps_; }
  std::vector<StepRecord> take_steps() { return std::move(steps_); }

 private:
  // Takes the step's numbers from the front of the sums, and returns the others.
  std::span<const std::uint64_t> settle(StepRecord& step,
                                        std::span<const std::uint64_t> sums) const;

  Communicator& communicator_;
  std::vector<StepRecord> own_;  // since the last meeting
  std::vector<Tally> tallies_;   // of these
  std::optional<StepWriter> writer_;
  std::vector<StepRecord> steps_;
};

// What a method did in a step.
void note_report(const MethodReport& report, StepRecord& step);

// What the notes of that kind in these steps add up to.
NoteTotals totals_of(const NoteKind& kind, std::span<const StepRecord> steps);

// What the steps of a run add up to.
void add_totals(std::span<const StepRecord> steps, RunRecord& record);

}  // namespace gradwire::record
