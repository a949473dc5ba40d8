#include "record/step_log.h"

#include <cmath>
#include <limits>

#include "gradwire/collective/rank_sums.h"
#include "record/code_record.h"
#include "record/plan_record.h"

namespace gradwire::record {
namespace {

constexpr std::size_t kNumbers = 8;    // of every step, that ranks add up
constexpr double kLossUnit = 0x1p-20;  // losses are added up as whole numbers of this: exactly
constexpr double kLossMax = 0x1p40;    // of a rank's samples; what is beyond has diverged

bool is_counted(double loss) { return std::abs(loss) < kLossMax; }

// What ranks add up of a step: kNumbers, and the bytes of each part of a code, of which all ranks
// have as many.
void add_numbers(const StepRecord& step, const Tally& tally, std::vector<std::uint64_t>& numbers) {
  const bool is_finite = is_counted(tally.loss);
  // Negative losses wrap around, and their sum wraps back.
  const auto loss = is_finite ? std::llround(tally.loss / kLossUnit) : 0LL;
  numbers.insert(numbers.end(),
                 {step.traffic.bytes_sent, step.traffic.bytes_received, step.traffic.message_bytes,
                  step.uploads, step.uploads_skipped, static_cast<std::uint64_t>(loss),
                  is_finite ? 0u : 1u, tally.samples});
  if (!step.code) return;
  for (const CodeNote::Part& part : step.code->parts) numbers.push_back(part.bytes);
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
  if (!step.code) return sums.subspan(kNumbers);
  std::vector<CodeNote::Part>& parts = step.code->parts;
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i].bytes = sums[kNumbers + i] / ranks;
  return sums.subspan(kNumbers + parts.size());
}

void note_report(const MethodReport& report, StepRecord& step) {
  step.poisoned = report.poisoned > 0;
  step.traffic = report.traffic;
  step.uploads = report.uploads;
  step.uploads_skipped = report.uploads_skipped;
  step.phases += report.phases;
  if (report.plan) step.plan = to_json(*report.plan);
  if (report.code) step.code = *report.code;
}

void add_totals(std::span<const StepRecord> steps, RunRecord& record) {
  CodeTotals code;
  for (const StepRecord& step : steps) {
    record.traffic += step.traffic;
    record.uploads += step.uploads;
    record.uploads_skipped += step.uploads_skipped;
    record.poisoned += step.poisoned ? 1 : 0;
    record.phases += step.phases;
    record.seconds += step.seconds;
    if (step.code) code.add(*step.code, step.traffic.bytes_sent);
    if (step.plan.is_null()) continue;
    Json plan = {{"step", step.step}};
    plan.update(step.plan);
    record.plans.push_back(std::move(plan));
  }
  record.code = code.to_json();
}

}  // namespace gradwire::record
