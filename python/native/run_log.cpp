#include "python/native/run_log.h"

#include <chrono>
#include <utility>

#include "gradwire/collective/rank_sums.h"
#include "gradwire/core/error.h"
#include "gradwire/version.h"
#include "record/json_file.h"
#include "record/machine.h"

namespace gradwire::python {
namespace {

// Ranks meet every so many steps to add up what they have counted, and rank 0 writes it down.
constexpr std::uint64_t kMeetingSteps = 20;

// What all steps come to is written when the run ends, and so often until then.
constexpr double kWriteSeconds = 10;

double now() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(time).count();
}

// What is wrong with the place; empty if nothing.
std::string open_directory(const RunLog::Options& options, record::StepLog& log) {
  const std::filesystem::path run = options.directory / record::kRunFile;
  const std::filesystem::path steps = options.directory / record::kStepsFile;
  try {
    const bool is_there = std::filesystem::exists(run) || std::filesystem::exists(steps);
    if (is_there && !options.overwrite) {
      return options.directory.string() +
             " already holds the record of a run: give another directory, or overwrite=True";
    }
    std::filesystem::create_directories(options.directory);
    std::filesystem::remove(run);
    log.open(steps, 0);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

record::Json description_of(const RunLog::Options& options) {
  auto description = record::Json::parse(options.description, nullptr, false);
  if (!description.is_object()) throw Error("the description of a run must be a JSON object");
  return description;
}

}  // namespace

RunLog::RunLog(Communicator& communicator, const Options& options)
    : communicator_(communicator),
      directory_(options.directory),
      log_(communicator),
      last_note_(now()) {
  record_.workers = communicator.size();
  record_.configuration = description_of(options);
  record_.version = GRADWIRE_VERSION;
  record_.machine = record::describe_machine();
  const std::string wrong = communicator.rank() == 0 ? open_directory(options, log_) : "";
  const auto sums =
      sum_over_ranks(communicator, std::vector<std::uint64_t>{wrong.empty() ? 0u : 1u});
  if (!wrong.empty()) throw Error(wrong);
  if (sums[0] > 0) throw Error("rank 0 cannot write the record of the run: its message says why");
}

void RunLog::note(const MethodReport& report, const StepContext& context, double compute_seconds) {
  step_.emplace();
  step_->step = record_.steps + 1;
  step_->learning_rate = context.learning_rate;
  record::note_report(report, *step_);
  step_->phases.compute_seconds = compute_seconds;
  const double before = std::exchange(last_note_, now());
  step_->seconds = last_note_ - before;
}

void RunLog::add(const Remark& remark) {
  if (remark.loss)
    tally_ = {.loss = *remark.loss * static_cast<double>(remark.samples),
              .samples = remark.samples};
  if (remark.test_loss) metrics_.test_loss = remark.test_loss;
  if (remark.accuracy) metrics_.accuracy = remark.accuracy;
}

void RunLog::settle() {
  if (!step_) return;
  log_.add(*step_, std::exchange(tally_, {}));
  log_.last().metrics = metrics_;
  if (metrics_.test_loss) record_.final.test_loss = metrics_.test_loss;
  if (metrics_.accuracy) record_.final.accuracy = metrics_.accuracy;
  metrics_ = {};
  step_.reset();
  if (++record_.steps % kMeetingSteps == 0) meet();
}

void RunLog::meet() {
  log_.meet(log_.last().metrics, {});
  if (now() - last_write_ > kWriteSeconds) write(false);
}

void RunLog::write(bool is_finished) {
  last_write_ = now();
  if (communicator_.rank() != 0 || record_.steps == 0) return;
  record::RunRecord record = record_;
  record.is_finished = is_finished;
  record::add_totals(log_.steps(), record);
  for (const record::StepRecord& step : log_.steps()) {
    if (step.metrics.loss) record.final.loss = step.metrics.loss;
  }
  record::write_run(directory_ / record::kRunFile, record);
}

void RunLog::finish() {
  settle();
  if (record_.steps % kMeetingSteps != 0) meet();
  write(true);
}

}  // namespace gradwire::python
