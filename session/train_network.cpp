#include "session/train_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "gradwire/core/machine_threads.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/method/parsed_method.h"
#include "record/hash_text.h"
#include "record/json_file.h"
#include "session/train_series.h"
#include "train/model.h"
#include "train/training.h"

namespace gradwire::session {
namespace {

using record::Json;

constexpr double kEpochsUsual = 3;
constexpr std::size_t kBatchUsual = 64;
constexpr std::size_t kBatchUsualOfText = 16;  // a sample of text is many tokens
constexpr std::uint64_t kEvaluationsLeast = 5;
constexpr std::size_t kContextUsual = 128;

data::SourceOptions source_options(const TrainOptions& options) {
  return {.seed = options.seed,
          .context = options.network.context.value_or(kContextUsual),
          .words = options.network.words,
          .augment = !options.network.no_augmentation};
}

train::TaskOptions task_options(const TrainOptions& options, const launch::Placement& placement,
                                bool is_text) {
  const NetworkOptions& network = options.network;
  train::TaskOptions task{
      .model = options.model,
      .split = data::parse_split(options.split),
      .ranks = placement.size,
      .batch = options.batch.value_or(is_text ? kBatchUsualOfText : kBatchUsual),
      .accumulate = network.accumulate,
      .optimiser = train::parse_optimiser(network.optimiser),
      .regulariser = convex::parse_regulariser(options.regulariser_spec()),
      .clip = network.clip,
      .schedule = train::parse_schedule(network.schedule),
      .warmup_epochs = network.warmup_epochs,
      .operation_threads = network.threads.value_or(std::max<std::size_t>(
          machine_threads() / launch::workers_on_host(placement, launch::process_environment), 1)),
      .seed = options.seed};
  const bool is_sgd = task.optimiser.kind == train::OptimiserOptions::Kind::sgd;
  task.learning_rate = network.learning_rate.value_or(is_sgd ? 0.05 : 0.001);
  if (options.workers.dedicated_server) task.dedicated_server = options.workers.server_rank();
  return task;
}

// The configuration that a resumed run must share with the original one.
Json same_configuration(const TrainOptions& options, const std::string& method,
                        const train::Task& task, std::uint64_t steps) {
  const train::TaskOptions& how = task.options;
  Json configuration = {{"model", train::parse_model(how.model).spec},
                        {"data", task.source->name()},
                        {"data_checksum", record::hash_text(task.source->checksum())},
                        {"split", how.split.spec()},
                        {"method", parse_method(method).spec},
                        {"workers", how.ranks},
                        {"topology_given", options.workers.topology_name},
                        {"server", options.workers.server_rank()},
                        {"dedicated_server", options.workers.dedicated_server},
                        {"batch", how.batch},
                        {"accumulate", how.accumulate},
                        {"optimiser", how.optimiser.spec()},
                        {"regulariser", how.regulariser.spec()},
                        {"clip", how.clip ? Json(*how.clip) : Json()},
                        {"learning_rate", how.learning_rate},
                        {"schedule", how.schedule.spec()},
                        {"warmup_epochs", how.warmup_epochs},
                        {"threads", how.operation_threads},
                        {"seed", options.seed}};
  // Other schedules do not know where the run ends.
  if (how.schedule.kind == train::Schedule::Kind::cosine) configuration["steps"] = steps;
  return configuration;
}

std::uint64_t steps_of(const TrainOptions& options, const train::Task& task) {
  if (options.steps) return *options.steps;
  const double epochs = options.network.epochs.value_or(kEpochsUsual);
  const double steps = std::ceil(epochs * static_cast<double>(task.steps_per_epoch()));
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(steps), 1);
}

train::RecordedSteps recorded_steps(const TrainOptions& options, std::uint64_t steps) {
  if (!options.network.record_gradients) return {};
  train::RecordedSteps recorded = train::parse_recorded_steps(*options.network.record_gradients);
  if (recorded.steps.empty() || recorded.steps.back() < steps) return recorded;
  throw UsageError(fmt::format("--record-gradients names step {}, but the last of {} steps is {}",
                               recorded.steps.back(), steps, steps - 1));
}

// The trainer of one task.
class NetworkTrainer final : public Trainer {
 public:
  NetworkTrainer(const TrainOptions& options, const train::Task& task)
      : options_(options),
        task_(task),
        steps_(steps_of(options, task)),
        evaluate_every_(options.network.evaluate_every.value_or(std::min(
            task.steps_per_epoch(), std::max<std::uint64_t>(steps_ / kEvaluationsLeast, 1)))),
        recorded_(recorded_steps(options, steps_)) {}

  RunOptions run_options(const RunPlan& plan) const override {
    return {.steps = steps_,
            .checkpoint_every = options_.checkpoint_every.value_or(evaluate_every_),
            .configuration = same_configuration(options_, plan.method, task_, steps_)};
  }

  double samples_per_step() const override {
    return static_cast<double>(task_.source->size(data::Part::train)) /
           static_cast<double>(task_.steps_per_epoch());
  }

  void check(Communicator& communicator, const RunPlan& plan) const override {
    train::check_training(communicator, task_, training_options(plan, run_options(plan)));
  }

  Trained train(Communicator& communicator, const RunPlan& plan,
                const RunOptions& run) const override {
    return {.result = train::train(communicator, task_, training_options(plan, run)),
            .facts = {{"steps_per_epoch", task_.steps_per_epoch()},
                      {"train_samples", task_.source->size(data::Part::train)},
                      {"test_samples", task_.source->size(data::Part::test)}}};
  }

 private:
  train::TrainingOptions training_options(const RunPlan& plan, const RunOptions& run) const {
    return {.method = plan.method,
            .exchange = {.topology = options_.workers.topology(),
                         .server = options_.workers.server_rank(),
                         .server_contributes = !options_.workers.dedicated_server},
            .evaluate_every = evaluate_every_,
            .record_gradients = recorded_,
            .run = run};
  }

  const TrainOptions& options_;
  const train::Task& task_;
  const std::uint64_t steps_;
  const std::uint64_t evaluate_every_;
  const train::RecordedSteps recorded_;
};

}  // namespace

std::vector<FinishedRun> run_network(const TrainOptions& options, std::span<const RunPlan> plans,
                                     const launch::Placement& placement,
                                     const console::Console& console) {
  const std::shared_ptr<const data::Source> source =
      data::open_source(options.data_or_usual(), source_options(options));
  const bool is_text = source->shape().kind == data::SampleShape::Kind::text;
  if (!is_text && (options.network.words || options.network.context)) {
    throw UsageError("--context and --words are for text, and " + source->name() + " is none");
  }
  const train::Task task(source, task_options(options, placement, is_text));
  return run_series(NetworkTrainer(options, task), options, plans, placement, console);
}

}  // namespace gradwire::session
