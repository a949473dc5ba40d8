#include "train/training.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "gradwire/method/parsed_method.h"
#include "gradwire/method/step_order.h"
#include "gradwire/wire/frame.h"
#include "record/hash_text.h"
#include "record/json_file.h"
#include "train/evaluation.h"
#include "train/learner.h"
#include "train/learner_files.h"
#include "train/model_files.h"

namespace gradwire::train {
namespace {

std::unique_ptr<Method> method_for(Communicator& communicator, const Learner& learner,
                                   const Task& task, const TrainingOptions& options) {
  MethodOptions exchange = options.exchange;
  exchange.seed = task.options.seed;
  const auto tensors = learner.tensors();
  exchange.group_elements = group_elements_for(total_elements(tensors));
  exchange.moments = moments_for(task.options.optimiser, tensors.size());
  auto method = make_method(communicator, tensors, options.method, exchange);
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
                  task.worker_of(communicator.rank())) {}

  TrainingResult run() {
    session::RunOptions run = options_.run;
    run.is_evaluated = [this](std::uint64_t step) {
      return session::is_due(method_->traits(), step, options_.evaluate_every);
    };
    TrainingResult result = session::run_session(communicator_, *method_, *this, run);
    if (result.steps_done == run.steps) finish(result);
    return result;
  }

  std::uint64_t parameters() const override { return total_elements(learner_.tensors()); }

  session::StepDone step(Method& method, std::uint64_t step) override {
    session::StepDone done = learner_.step(method, step, recorder_.taker(step));
    recorder_.write(step);
    return done;
  }

  std::uint64_t hash() override {
    const std::array<std::uint64_t, 2> facts = {model_hash(), task_.options.operation_threads};
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
    return save_learner(directory, communicator_.rank(), communicator_.size(), leads_disk,
                        learner_);
  }

  void load(const std::filesystem::path& directory, std::uint64_t step,
            const record::Json& manifest) override {
    load_learner(directory, manifest, communicator_.rank(), communicator_.size(), learner_);
    recorder_.check_steps_before(step);
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
