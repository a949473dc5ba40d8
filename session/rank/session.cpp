#include "session/rank/session.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>

#include "gradwire/collective/rank_sums.h"
#include "gradwire/wire/frame.h"
#include "record/checkpoint_directory.h"
#include "record/step_log.h"
#include "session/rank/checkpoint.h"
#include "session/rank/disk.h"

namespace gradwire::session {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMeetingSeconds = 0.5;

// The method's remark on a step, for people.
void add_line(const record::StepRecord& step, std::vector<std::string>& notes) {
  const std::string line = step.note ? step.note->line() : "";
  const std::string where = "step " + std::to_string(step.step) + ": ";
  if (!line.empty()) notes.push_back(where + line);
  if (!step.shares || step.step == 1) return;
  std::string shares;
  for (const std::uint32_t samples : *step.shares) {
    shares += (shares.empty() ? "" : ", ") + std::to_string(samples);
  }
  notes.push_back(where + "the workers' samples are now " + shares);
}

std::optional<double> mean_loss(std::span<const record::StepRecord> steps) {
  double sum = 0;
  std::size_t count = 0;
  for (const record::StepRecord& step : steps) {
    if (!step.metrics.loss) continue;
    sum += *step.metrics.loss;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

class Session {
 public:
  Session(Communicator& communicator, Method& method, Trainee& trainee, const RunOptions& options)
      : communicator_(communicator),
        method_(method),
        trainee_(trainee),
        options_(options),
        checkpoints_{.directory = options.directory / record::kCheckpoints,
                     .configuration = options.configuration,
                     .kept = options.checkpoints_kept},
        log_(communicator) {}

  RunResult run() {
    if (options_.resume) {
      progress_ = load_checkpoint(communicator_, checkpoints_, options_.steps, method_, trainee_)
                      .value_or(Progress());
    }
    resumed_from_ = progress_.step;
    met_at_ = progress_.step;
    check_same("what they begin with");
    if (is_first() && options_.on_ready) options_.on_ready(resumed_from_);
    prepare_disk();
    if (is_first()) log_.open(options_.directory / record::kStepsFile, resumed_from_);
    last_meeting_ = Clock::now();
    while (progress_.step < options_.steps && !is_stopped_) {
      const StepDone done = trainee_.step(method_, progress_.step);
      log_.add(done.record, done.tally);
      ++progress_.step;
      meet_if_due();
    }
    return {.method = method_.spec(),
            .topology = method_.topology(),
            .parameters = trainee_.parameters(),
            .resumed_from = resumed_from_,
            .steps_done = progress_.step,
            .final = progress_.metrics,
            .steps = log_.take_steps()};
  }

 private:
  bool is_first() const { return communicator_.rank() == 0; }

  // A disk that rank 0 does not see may hold checkpoints of an earlier run, or newer ones than all
  // ranks have.
  void prepare_disk() {
    checkpoints_.leads_disk = leads_disk(communicator_, options_.directory);
    if (checkpoints_.leads_disk) {
      record::remove_checkpoints_after(checkpoints_.directory, resumed_from_);
    }
    communicator_.barrier();
  }

  void check_same(const std::string& what) {
    const std::array<std::uint64_t, 2> facts = {trainee_.hash(), progress_.step};
    check_same_on_all_ranks(communicator_, checksum(std::as_bytes(std::span(facts))), what);
  }

  void meet_if_due() {
    const std::uint64_t step = progress_.step;
    const bool evaluates =
        step == options_.steps || (options_.is_evaluated && options_.is_evaluated(step));
    const bool saves = is_due(method_.traits(), step, options_.checkpoint_every);
    if (!evaluates && !saves && step < next_meeting_) return;
    const double seconds = std::chrono::duration<double>(Clock::now() - last_meeting_).count();
    const std::string what = "the model after step " + std::to_string(step);
    if (evaluates || saves) check_same(what);
    if (evaluates) evaluate(saves);
    meet(evaluates, seconds);
    if (is_stopped_ && !evaluates && !saves) check_same(what);
    if (saves || is_stopped_) {
      save_checkpoint(communicator_, checkpoints_, method_, trainee_, progress_);
    }
    last_meeting_ = Clock::now();
  }

  void evaluate(bool is_saved) {
    const Evaluated found = trainee_.evaluate(progress_.step);
    progress_.metrics = found.metrics;
    log_.last().traffic += found.traffic;
    if (!is_saved || !trainee_.is_better(progress_.metrics, progress_.best)) return;
    progress_.best = progress_.metrics;
    progress_.best_step = progress_.step;
  }

  // Rank 0 looks at its clock to say when ranks meet again. The clock changes no model. `seconds`
  // are those of the steps since the last meeting.
  void meet(bool has_metrics, double seconds) {
    const std::uint64_t steps = std::max<std::uint64_t>(progress_.step - met_at_, 1);
    const double per_step = std::max(seconds / static_cast<double>(steps), 1e-6);
    std::vector<std::uint64_t> own = {
        options_.wants_stop && options_.wants_stop() ? 1u : 0u,
        is_first() ? 1 + static_cast<std::uint64_t>(kMeetingSeconds / per_step) : 0};
    const std::vector<std::uint64_t> numbers = trainee_.own_numbers();
    own.insert(own.end(), numbers.begin(), numbers.end());
    const auto sums = log_.meet(has_metrics ? progress_.metrics : record::Metrics(), own);
    trainee_.take_sums(std::span(sums).subspan(2));
    is_stopped_ = sums[0] > 0 && progress_.step < options_.steps;
    next_meeting_ =
        progress_.step + std::max(std::min(sums[1], 2 * steps), options_.meeting_steps_min);
    if (is_first() && options_.on_report) report(seconds, per_step);
    met_at_ = progress_.step;
  }

  void report(double seconds, double per_step) {
    const std::span<const record::StepRecord> steps = log_.steps();
    const auto recent = steps.subspan(std::min<std::size_t>(met_at_, steps.size() - 1));
    Report report{.step = progress_.step,
                  .parameters = trainee_.parameters(),
                  .loss = mean_loss(recent),
                  .metrics = progress_.metrics,
                  .steps_per_second = static_cast<double>(recent.size()) / seconds,
                  .seconds_left = per_step * static_cast<double>(options_.steps - progress_.step),
                  .steps = recent};
    for (; counted_ < steps.size(); ++counted_) {
      bytes_up_ += steps[counted_].traffic.bytes_sent;
      quiet_steps_ += steps[counted_].traffic.bytes_sent == 0 ? 1 : 0;
      if (counted_ >= resumed_from_) add_line(steps[counted_], report.notes);
    }
    report.bytes_up = bytes_up_;
    report.quiet_steps = quiet_steps_;
    options_.on_report(report);
  }

  Communicator& communicator_;
  Method& method_;
  Trainee& trainee_;
  const RunOptions& options_;
  CheckpointOptions checkpoints_;
  record::StepLog log_;
  Progress progress_;
  std::uint64_t resumed_from_ = 0;
  bool is_stopped_ = false;
  std::uint64_t next_meeting_ = 0;  // the same on all ranks
  std::uint64_t met_at_ = 0;        // at which step
  Clock::time_point last_meeting_;
  std::uint64_t bytes_up_ = 0;  // of the steps that were counted
  std::uint64_t quiet_steps_ = 0;
  std::size_t counted_ = 0;
};

}  // namespace

RunResult run_session(Communicator& communicator, Method& method, Trainee& trainee,
                      const RunOptions& options) {
  return Session(communicator, method, trainee, options).run();
}

}  // namespace gradwire::session
