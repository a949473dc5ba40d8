#include "train/training.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "data/balance.h"
#include "gradwire/core/error.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/method/parsed_method.h"
#include "gradwire/method/step_order.h"
#include "gradwire/wire/frame.h"
#include "record/fields.h"
#include "record/hash_text.h"
#include "record/json_file.h"
#include "train/evaluation.h"
#include "train/learner.h"
#include "train/learner_files.h"
#include "train/model_files.h"

namespace gradwire::train {
namespace {

constexpr const char* kShares = "shares";  // of the manifest

// Null if workers may share batches unevenly, and change their shares.
const char* why_not_balanced(const MethodTraits& traits) {
  if (traits.reuses_uploads) {
    return "a worker's last upload would count again, weighted with the samples that it had then";
  }
  if (traits.output == MethodTraits::Output::model) {
    return "its workers take steps of their own, each with a whole batch";
  }
  return nullptr;
}

std::unique_ptr<Method> method_for(Communicator& communicator, const Learner& learner,
                                   const Task& task, const TrainingOptions& options) {
  MethodOptions exchange = options.exchange;
  exchange.seed = task.options.seed;
  const auto tensors = learner.tensors();
  exchange.group_elements = group_elements_for(total_elements(tensors));
  exchange.moments = moments_for(task.options.optimiser, tensors.size());
  if (exchange.grace.is_given()) {
    const std::string why = why_not_late(parse_method(options.method), exchange.topology);
    if (!why.empty()) throw UsageError(why);
  }
  auto method = make_method(communicator, tensors, options.method, exchange);
  if (const char* const why = why_not_balanced(method->traits());
      task.options.balance && why != nullptr) {
    throw UsageError(method->spec() + " cannot be balanced: " + why);
  }
  if (task.options.away && method->traits().output != MethodTraits::Output::model) {
    throw UsageError("--away leaves out steps of a rank's own, and " + method->spec() +
                     " has none");
  }
  check_optimiser_fits(method->traits(), method->spec(), task.options.optimiser,
                       task.options.clip.has_value(), !task.options.regulariser.is_zero());
  return method;
}

// Of the last epoch.
std::optional<double> mean_loss(std::span<const record::StepRecord> steps,
                                std::uint64_t steps_per_epoch) {
  if (steps.empty()) return std::nullopt;
  const auto last = steps.last(std::min<std::size_t>(steps_per_epoch, steps.size()));
  double sum = 0;
  for (const record::StepRecord& step : last) sum += step.metrics.loss.value_or(std::nan(""));
  return sum / static_cast<double>(last.size());
}

// The run on one rank.
class Training final : public session::Trainee {
 public:
  Training(Communicator& communicator, const Task& task, const TrainingOptions& options)
      : communicator_(communicator),
        task_(task),
        options_(options),
        learner_(task, communicator.rank(), options.run.steps, parse_method(options.method).traits),
        method_(method_for(communicator, learner_, task, options)),
        evaluation_(communicator, *task.source, learner_.model(),
                    task.weight_of(communicator.rank())),
        recorder_(options.record_gradients, options.run.directory, learner_.tensors(),
                  task.worker_of(communicator.rank())) {
    if (!task.options.balance) return;
    balance_.emplace(task.shards.size(), task.global_batch());
    learner_.set_shares(balance_->shares());
  }

  TrainingResult run() {
    session::RunOptions run = options_.run;
    run.is_evaluated = [this](std::uint64_t step) {
      return session::is_due(method_->traits(), step, options_.evaluate_every);
    };
    if (options_.exchange.grace.is_given()) run.meeting_steps_min = 4 * kStepsAheadMax;
    TrainingResult result = session::run_session(communicator_, *method_, *this, run);
    if (result.steps_done == run.steps) finish(result);
    return result;
  }

  std::uint64_t parameters() const override { return total_elements(learner_.tensors()); }

  session::StepDone step(Method& method, std::uint64_t step) override {
    session::StepDone done = learner_.step(method, step, recorder_.taker(step));
    recorder_.write(step);
    if (balance_) {
      // A late rank spares some gradients: they say nothing of its speed.
      if (done.tally.samples > 0) times_.add(done.record.phases.compute_seconds);
      if (std::exchange(are_shares_new_, false)) {
        done.record.shares.emplace(balance_->shares().begin(), balance_->shares().end());
      }
    }
    return done;
  }

  // Every worker has a place for its time. The workers' shares follow from the times of all.
  std::vector<std::uint64_t> own_numbers() override {
    if (!balance_) return {};
    std::vector<std::uint64_t> times(task_.shards.size());
    if (const auto worker = task_.worker_of(communicator_.rank())) {
      times[*worker] = times_.median_nanoseconds();
    }
    return times;
  }
  void take_sums(std::span<const std::uint64_t> times) override {
    if (balance_ && balance_->take_times(times)) use_shares();
  }

  std::uint64_t hash() override {
    std::uint64_t shares = 0;
    if (balance_) shares = checksum(std::as_bytes(balance_->shares()));
    const std::array<std::uint64_t, 3> facts = {model_hash(), task_.options.operation_threads,
                                                shares};
    return checksum(std::as_bytes(std::span(facts)));
  }

  session::Evaluated evaluate(std::uint64_t step) override {
    evaluated_at_ = step;
    const bool is_elsewhere = swap_model();
    const record::Metrics metrics = evaluation_.run(step);
    if (is_elsewhere) std::ranges::copy(own_values_, learner_.model().values().begin());
    return {.metrics = metrics, .traffic = evaluation_.take_traffic()};
  }

  // A higher accuracy, and a lower test loss where that is equal. The likeliest token is not what a
  // model of text is judged by: there the test loss alone counts.
  bool is_better(const record::Metrics& metrics, const record::Metrics& than) const override {
    const bool is_text = task_.source->shape().kind == data::SampleShape::Kind::text;
    if (!is_text && metrics.accuracy != than.accuracy) return metrics.accuracy > than.accuracy;
    if (!metrics.test_loss || !than.test_loss) return metrics.test_loss.has_value();
    return *metrics.test_loss < *than.test_loss;
  }

  record::Json save(const std::filesystem::path& directory, bool leads_disk) override {
    record::Json manifest =
        save_learner(directory, communicator_.rank(), communicator_.size(), leads_disk, learner_);
    if (balance_)
      manifest[kShares] = std::vector(balance_->shares().begin(), balance_->shares().end());
    return manifest;
  }

  void load(const std::filesystem::path& directory, std::uint64_t step,
            const record::Json& manifest) override {
    load_learner(directory, manifest, communicator_.rank(), communicator_.size(), learner_);
    recorder_.check_steps_before(step);
    if (!balance_) return;
    balance_->load(record::field<std::vector<std::uint32_t>>(manifest, kShares));
    use_shares();
  }

 private:
  // Of what all ranks have in common.
  std::uint64_t model_hash() {
    if (method_->model(0).empty()) return replica_hash(learner_);
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < learner_.tensors().size(); ++i) {
      hash = checksum(std::as_bytes(method_->model(i)), hash);
    }
    return hash;
  }

  // Where ranks take steps of their own, the common model takes the place of this rank's.
  bool swap_model() {
    if (method_->model(0).empty()) return false;
    Model& model = learner_.model();
    own_values_.assign(model.values().begin(), model.values().end());
    for (std::size_t i = 0; i < model.parameters().size(); ++i) {
      std::ranges::copy(method_->model(i),
                        model.values().subspan(model.parameters()[i].first).begin());
    }
    return true;
  }

  void use_shares() {
    learner_.set_shares(balance_->shares());
    times_.clear();
    are_shares_new_ = true;
  }

  void finish(TrainingResult& result) {
    const auto statistics = evaluated_at_ == result.steps_done
                                ? evaluation_.last_mean()
                                : evaluation_.mean_statistics(result.steps_done);
    result.model_hash = record::hash_text(
        checksum(std::as_bytes(statistics), checksum(std::as_bytes(learner_.model().values()), 0)));
    if (communicator_.rank() != 0) return;
    write_model_files(options_.run.directory / kModelFiles, learner_.model(), statistics);
    result.final.loss = mean_loss(result.steps, task_.steps_per_epoch());
  }

  Communicator& communicator_;
  const Task& task_;
  const TrainingOptions& options_;
  Learner learner_;
  std::unique_ptr<Method> method_;
  Evaluation evaluation_;
  GradientRecorder recorder_;
  std::optional<data::Balance> balance_;
  data::StepTimes times_;  // of this rank, with the present shares
  bool are_shares_new_ = true;
  std::vector<float> own_values_;              // while the common model is in their place
  std::optional<std::uint64_t> evaluated_at_;  // the last time, in this process
};

}  // namespace

void check_training(Communicator& communicator, const Task& task, const TrainingOptions& options) {
  const Learner learner(task, communicator.rank(), options.run.steps,
                        parse_method(options.method).traits);
  method_for(communicator, learner, task, options);
}

TrainingResult train(Communicator& communicator, const Task& task, const TrainingOptions& options) {
  set_operation_threads(task.options.operation_threads);
  return Training(communicator, task, options).run();
}

}  // namespace gradwire::train
