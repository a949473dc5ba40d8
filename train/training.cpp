#include "train/training.h"

#include <array>
#include <chrono>
#include <cmath>
#include <memory>

#include "gradwire/collective/rank_sums.h"
#include "gradwire/method/step_order.h"
#include "gradwire/wire/frame.h"
#include "record/checkpoint_directory.h"
#include "record/hash_text.h"
#include "train/checkpoint.h"
#include "train/evaluation.h"
#include "train/learner.h"
#include "train/model_files.h"

namespace gradwire::train {
namespace {

using Clock = std::chrono::steady_clock;

std::unique_ptr<Method> method_for(Communicator& communicator, const Learner& learner,
                                   const Task& task, const TrainingOptions& options) {
  MethodOptions exchange = options.exchange;
  exchange.seed = task.options.seed;
  const auto tensors = learner.tensors();
  exchange.group_elements = group_elements_for(total_elements(tensors));
  auto method = make_method(communicator, tensors, options.method, exchange);
  check_optimiser_fits(method->traits(), method->spec(), task.options.optimiser,
                       task.options.clip.has_value(), !task.options.regulariser.is_zero());
  return method;
}

// What the method had to say of a step, for people.
void add_line(const record::StepRecord& step, std::vector<std::string>& notes) {
  const std::string line = step.note ? step.note->line() : "";
  if (!line.empty()) notes.push_back("step " + std::to_string(step.step) + ": " + line);
}

// The run on one rank.
class Training {
 public:
  Training(Communicator& communicator, const Task& task, const TrainingOptions& options)
      : communicator_(communicator),
        task_(task),
        options_(options),
        checkpoints_{.directory = options.directory / record::kCheckpoints,
                     .configuration = options.configuration,
                     .kept = options.checkpoints_kept},
        learner_(task, communicator.rank(), options.steps),
        method_(method_for(communicator, learner_, task, options)),
        evaluation_(communicator, *task.source, learner_.model(),
                    task.weight_of(communicator.rank())),
        recorder_(options.record_gradients, options.directory, learner_.tensors(),
                  task.worker_of(communicator.rank())),
        log_(communicator) {}

  TrainingResult run() {
    if (options_.resume) resume();
    resumed_from_ = progress_.step;
    met_at_ = progress_.step;
    recorder_.check_steps_before(resumed_from_);
    check_same("what they begin with");
    if (is_first() && options_.on_ready) options_.on_ready(resumed_from_);
    if (is_first()) log_.open(options_.directory / record::kStepsFile, resumed_from_);
    last_meeting_ = Clock::now();
    while (progress_.step < options_.steps && !is_stopped_) {
      const std::uint64_t step = progress_.step;
      const Learner::Step done = learner_.step(*method_, step, recorder_.taker(step));
      recorder_.write(step);
      log_.add(done.record, done.tally);
      ++progress_.step;
      meet_if_due();
    }
    return result();
  }

 private:
  bool is_first() const { return communicator_.rank() == 0; }

  void check_same(const std::string& what) {
    const std::array<std::uint64_t, 3> facts = {replica_hash(learner_), progress_.step,
                                                task_.options.operation_threads};
    check_same_on_all_ranks(communicator_, checksum(std::as_bytes(std::span(facts))), what);
  }

  void resume() {
    const auto found = load_checkpoint(communicator_, checkpoints_, learner_, *method_);
    if (!found) return;
    progress_ = *found;
    if (progress_.step <= options_.steps) return;
    throw Error("the newest checkpoint is that of step " + std::to_string(progress_.step) +
                ", which is after the last one asked for, " + std::to_string(options_.steps) +
                ": ask for more steps, or for another directory");
  }

  static bool is_due(std::uint64_t step, std::uint64_t every) {
    return every > 0 && step % every == 0;
  }

  void meet_if_due() {
    const bool is_last = progress_.step == options_.steps;
    const bool evaluates = is_last || is_due(progress_.step, options_.evaluate_every);
    const bool saves = is_due(progress_.step, options_.checkpoint_every);
    if (!evaluates && !saves && progress_.step < next_meeting_) return;
    const double seconds = std::chrono::duration<double>(Clock::now() - last_meeting_).count();
    if (evaluates) evaluate(saves);
    meet(evaluates, seconds);
    if (saves || is_stopped_) save();
    last_meeting_ = Clock::now();
  }

  void evaluate(bool is_saved) {
    progress_.metrics = evaluation_.run(progress_.step);
    log_.last().traffic += evaluation_.take_traffic();
    evaluated_at_ = progress_.step;
    // The likeliest token is not what a model of text is judged by.
    const bool by_accuracy = task_.source->shape().kind != data::SampleShape::Kind::text;
    if (!is_saved || !is_better(progress_.metrics, progress_.best, by_accuracy)) return;
    progress_.best = progress_.metrics;
    progress_.best_step = progress_.step;
  }

  // Steps are written down, and all ranks learn whether one of them wants to stop and when they
  // meet again: rank 0 looks at its clock for that. What the clock says changes no model. `seconds`
  // are those of the steps since the last meeting.
  void meet(bool has_metrics, double seconds) {
    constexpr double kInterval = 0.5;
    const std::uint64_t steps = std::max<std::uint64_t>(progress_.step - met_at_, 1);
    const double per_step = std::max(seconds / static_cast<double>(steps), 1e-6);
    const std::array<std::uint64_t, 2> own = {
        options_.wants_stop && options_.wants_stop() ? 1u : 0u,
        is_first() ? 1 + static_cast<std::uint64_t>(kInterval / per_step) : 0};
    const auto sums = log_.meet(has_metrics ? progress_.metrics : record::Metrics(), own);
    is_stopped_ = sums[0] > 0 && progress_.step < options_.steps;
    next_meeting_ = progress_.step + std::min(sums[1], 2 * steps);
    if (is_first() && options_.on_report) report(seconds, per_step);
    met_at_ = progress_.step;
  }

  void report(double seconds, double per_step) {
    const auto& steps = log_.steps();
    Report report{.step = progress_.step,
                  .parameters = learner_.model().values().size(),
                  .metrics = progress_.metrics,
                  .seconds_left = per_step * static_cast<double>(options_.steps - progress_.step)};
    const std::size_t first = std::min<std::size_t>(met_at_, steps.size() - 1);
    for (std::size_t i = first; i < steps.size(); ++i) {
      report.loss +=
          steps[i].metrics.loss.value_or(std::nan("")) / static_cast<double>(steps.size() - first);
    }
    for (; counted_ < steps.size(); ++counted_) {
      bytes_up_ += steps[counted_].traffic.bytes_sent;
      if (counted_ >= resumed_from_) add_line(steps[counted_], report.notes);
    }
    report.bytes_up = bytes_up_;
    const double epochs =
        static_cast<double>(steps.size() - first) / static_cast<double>(task_.steps_per_epoch());
    report.samples_per_second =
        epochs * static_cast<double>(task_.source->size(data::Part::train)) / seconds;
    options_.on_report(report);
  }

  void save() {
    check_same("the model after step " + std::to_string(progress_.step));
    save_checkpoint(communicator_, checkpoints_, learner_, *method_, progress_);
  }

  TrainingResult result() {
    TrainingResult result{.method = method_->spec(),
                          .model = learner_.model().spec(),
                          .topology = method_->topology(),
                          .parameters = learner_.model().values().size(),
                          .resumed_from = resumed_from_,
                          .steps_done = progress_.step,
                          .model_hash = {},
                          .final = progress_.metrics};
    if (is_stopped_) return result;
    check_same("the model that they end with");
    const auto statistics = evaluated_at_ == progress_.step
                                ? evaluation_.last_mean()
                                : evaluation_.mean_statistics(progress_.step);
    result.model_hash = record::hash_text(
        checksum(std::as_bytes(statistics), checksum(std::as_bytes(learner_.model().values()), 0)));
    if (!is_first()) return result;
    write_model_files(options_.directory / kModelFiles, learner_.model(), statistics);
    result.steps = log_.take_steps();
    result.final.loss = mean_loss(result.steps, task_.steps_per_epoch());
    return result;
  }

  // Of the last epoch.
  static std::optional<double> mean_loss(const std::vector<record::StepRecord>& steps,
                                         std::uint64_t last) {
    double sum = 0;
    const std::size_t count = std::min<std::size_t>(last, steps.size());
    if (count == 0) return std::nullopt;
    for (std::size_t i = steps.size() - count; i < steps.size(); ++i) {
      sum += steps[i].metrics.loss.value_or(std::nan(""));
    }
    return sum / static_cast<double>(count);
  }

  Communicator& communicator_;
  const Task& task_;
  const TrainingOptions& options_;
  const CheckpointOptions checkpoints_;
  Learner learner_;
  std::unique_ptr<Method> method_;
  Evaluation evaluation_;
  GradientRecorder recorder_;
  record::StepLog log_;
  Progress progress_;
  std::uint64_t resumed_from_ = 0;
  std::optional<std::uint64_t> evaluated_at_;  // the last time, in this process
  bool is_stopped_ = false;
  std::uint64_t next_meeting_ = 0;  // the same on all ranks
  std::uint64_t met_at_ = 0;        // at which step
  Clock::time_point last_meeting_;
  std::uint64_t bytes_up_ = 0;  // of the steps that were counted
  std::size_t counted_ = 0;
};

}  // namespace

void check_training(Communicator& communicator, const Task& task, const TrainingOptions& options) {
  const Learner learner(task, communicator.rank(), options.steps);
  method_for(communicator, learner, task, options);
}

TrainingResult train(Communicator& communicator, const Task& task, const TrainingOptions& options) {
  set_operation_threads(task.options.operation_threads);
  return Training(communicator, task, options).run();
}

}  // namespace gradwire::train
