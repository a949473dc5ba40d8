#include "record/step_log.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gradwire/collective/rank_sums.h"
#include "record/json_file.h"
#include "record/note_json.h"
#include "record/run_record.h"

namespace gradwire::record {
namespace {

constexpr std::size_t kNumbers = 8;    // of every step, that ranks add up
constexpr double kLossUnit = 0x1p-20;  // losses are added up as whole numbers of this: exactly
constexpr double kLossMax = 0x1p40;    // of a rank's samples; what is beyond has diverged

bool is_counted(double loss) { return std::abs(loss) < kLossMax; }

// The counts in the note of a step that ranks add up.
std::vector<std::uint64_t*> counts_in(StepRecord& step) {
  std::vector<std::uint64_t*> counts;
  if (!step.note || !step.note->kind->table.is_mean_over_ranks) return counts;
  for (std::vector<NoteValue>& row : step.note->rows) {
    for (NoteValue& value : row) {
      if (auto* const count = std::get_if<std::uint64_t>(&value)) counts.push_back(count);
    }
  }
  return counts;
}

// What ranks add up of a step: kNumbers, and the counts of its note, of which all ranks have as
// many.
void add_numbers(StepRecord& step, const Tally& tally, std::vector<std::uint64_t>& numbers) {
  const bool is_finite = is_counted(tally.loss);
  // Negative losses wrap around, and their sum wraps back.
  const auto loss = is_finite ? std::llround(tally.loss / kLossUnit) : 0LL;
  numbers.insert(numbers.end(),
                 {step.traffic.bytes_sent, step.traffic.bytes_received, step.traffic.message_bytes,
                  step.uploads, step.uploads_skipped, static_cast<std::uint64_t>(loss),
                  is_finite ? 0u : 1u, tally.samples});
  for (const std::uint64_t* count : counts_in(step)) numbers.push_back(*count);
}

}  // namespace

void StepLog::open(const std::filesystem::path& path, std::uint64_t steps_kept) {
  if (steps_kept > 0) {
    steps_ = read_steps(path);
    steps_.resize(std::min(steps_.size(), std::size_t{steps_kept}));
  }
  writer_.emplace(path, steps_kept);
}

void StepLog::add(const StepRecord& own, const Tally& tally) {
  own_.push_back(own);
  tallies_.push_back(tally);
}

std::vector<std::uint64_t> StepLog::meet(const Metrics& metrics,
                                         std::span<const std::uint64_t> others) {
  std::vector<std::uint64_t> numbers;
  for (std::size_t i = 0; i < own_.size(); ++i) add_numbers(own_[i], tallies_[i], numbers);
  numbers.insert(numbers.end(), others.begin(), others.end());
  const std::vector<std::uint64_t> sums = sum_over_ranks(communicator_, numbers);
  std::span<const std::uint64_t> rest = sums;
  for (StepRecord& step : own_) rest = settle(step, rest);
  if (writer_) {
    if (!own_.empty()) {
      Metrics& last = own_.back().metrics;
      const std::optional<double> batch_loss = last.loss;
      last = metrics;
      if (!last.loss) last.loss = batch_loss;
    }
    writer_->write(own_);
    steps_.insert(steps_.end(), own_.begin(), own_.end());
  }
  own_.clear();
  tallies_.clear();
  return {rest.begin(), rest.end()};
}

std::span<const std::uint64_t> StepLog::settle(StepRecord& step,
                                               std::span<const std::uint64_t> sums) const {
  const std::uint64_t ranks = communicator_.size();
  step.traffic = {.message_bytes = sums[2] / ranks,
                  .bytes_sent = sums[0] / ranks,
                  .bytes_received = sums[1] / ranks};
  step.uploads = sums[3];
  step.uploads_skipped = sums[4];
  if (sums[7] > 0) {
    step.metrics.loss = sums[6] > 0 ? std::numeric_limits<double>::quiet_NaN()
                                    : static_cast<double>(static_cast<std::int64_t>(sums[5])) *
                                          kLossUnit / static_cast<double>(sums[7]);
  }
  const std::vector<std::uint64_t*> counts = counts_in(step);
  for (std::size_t i = 0; i < counts.size(); ++i) *counts[i] = sums[kNumbers + i] / ranks;
  return sums.subspan(kNumbers + counts.size());
}

void note_report(const MethodReport& report, StepRecord& step) {
  step.poisoned = report.poisoned > 0;
  step.traffic = report.traffic;
  step.uploads = report.uploads;
  step.uploads_skipped = report.uploads_skipped;
  step.late = report.late;
  step.phases += report.phases;
  if (report.note) step.note = *report.note;
}

NoteTotals totals_of(const NoteKind& kind, std::span<const StepRecord> steps) {
  NoteTotals totals(kind);
  for (const StepRecord& step : steps) {
    if (step.note && step.note->kind == &kind) totals.add(*step.note, step.traffic);
  }
  return totals;
}

void add_late(const StepRecord& step, RunRecord& record) {
  for (const std::size_t rank : step.late) {
    if (record.late.size() <= rank) record.late.resize(std::max(rank + 1, record.workers));
    ++record.late[rank];
  }
}

void add_totals(std::span<const StepRecord> steps, RunRecord& record) {
  for (const StepRecord& step : steps) {
    record.traffic += step.traffic;
    record.uploads += step.uploads;
    record.uploads_skipped += step.uploads_skipped;
    record.poisoned += step.poisoned ? 1 : 0;
    add_late(step, record);
    record.phases += step.phases;
    record.seconds += step.seconds;
    if (!step.note) continue;
    const NoteKind& kind = *step.note->kind;
    if (kind.is_list) {
      Json note = {{"step", step.step}};
      note.update(to_json(*step.note));
      record.notes[kind.run_name].push_back(std::move(note));
    } else if (!record.notes.contains(kind.run_name)) {
      record.notes[kind.run_name] = to_json(totals_of(kind, steps));
    }
  }
}

}  // namespace gradwire::record
