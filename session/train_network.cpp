#include "session/train_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "gradwire/core/machine_threads.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/method/parsed_method.h"
#include "launch/stop_request.h"
#include "launch/workers.h"
#include "record/hash_text.h"
#include "record/machine.h"
#include "record/run_record.h"
#include "record/step_log.h"
#include "session/finished_runs.h"
#include "session/live_report.h"
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

// What a run that goes on must have the same.
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

train::TrainingOptions training_options(const TrainOptions& options, const RunPlan& plan,
                                        const train::Task& task) {
  const std::uint64_t steps = steps_of(options, task);
  const std::uint64_t evaluate_every = options.network.evaluate_every.value_or(
      std::min(task.steps_per_epoch(), std::max<std::uint64_t>(steps / kEvaluationsLeast, 1)));
  return {.method = plan.method,
          .exchange = {.topology = options.workers.topology(),
                       .server = options.workers.server_rank(),
                       .server_contributes = !options.workers.dedicated_server},
          .steps = steps,
          .evaluate_every = evaluate_every,
          .record_gradients = recorded_steps(options, steps),
          .directory = plan.directory,
          .checkpoint_every = options.checkpoint_every.value_or(evaluate_every),
          .checkpoints_kept = options.network.keep,
          .resume = options.resume,
          .configuration = same_configuration(options, plan.method, task, steps),
          .wants_stop = launch::StopRequest::is_made};
}

// One run on rank 0, and its record.
class FirstRank {
 public:
  FirstRank(const TrainOptions& options, const train::Task& task,
            const launch::Placement& placement, const console::Console& console)
      : options_(options), task_(task), placement_(placement), console_(console) {}

  // Nothing where the run was stopped.
  std::optional<FinishedRun> run(Communicator& communicator, train::TrainingOptions training) {
    LiveReport live(console_, training.method, training.steps, placement_.size);
    training.on_ready = [&](std::uint64_t resumed_from) {
      prepare_directory(training.directory, options_, resumed_from, training.configuration);
    };
    training.on_report = [&](const train::Report& report) { live.show(report); };
    train::TrainingResult result = train::train(communicator, task_, training);
    if (result.steps_done < training.steps) {
      stopped_ = fmt::format("stopped after step {} of {}; the checkpoint is in {}",
                             result.steps_done, training.steps, training.directory.string());
      return std::nullopt;
    }
    FinishedRun run{.directory = training.directory,
                    .record = make_record(training, result),
                    .steps = std::move(result.steps)};
    record::add_totals(run.steps, run.record);
    record::write_run(training.directory / record::kRunFile, run.record);
    return run;
  }

  // What happened to a run that was stopped.
  const std::string& stopped() const { return stopped_; }

 private:
  record::RunRecord make_record(const train::TrainingOptions& training,
                                const train::TrainingResult& result) const {
    Json configuration = training.configuration;
    configuration["steps_per_epoch"] = task_.steps_per_epoch();
    configuration["train_samples"] = task_.source->size(data::Part::train);
    configuration["test_samples"] = task_.source->size(data::Part::test);
    configuration["topology"] = name(result.topology);
    configuration["transport"] = name(placement_.transport);
    configuration["resumed_from"] = result.resumed_from;
    return {.method = result.method,
            .workers = placement_.size,
            .steps = training.steps,
            .parameters = result.parameters,
            .final = result.final,
            .model_hash = result.model_hash,
            .configuration = std::move(configuration),
            .version = GRADWIRE_VERSION,
            .machine = record::describe_machine()};
  }

  const TrainOptions& options_;
  const train::Task& task_;
  const launch::Placement& placement_;
  const console::Console& console_;
  std::string stopped_;
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
  recorded_steps(options, steps_of(options, task));  // refused before workers meet
  FirstRank first(options, task, placement, console);
  std::vector<FinishedRun> runs;
  std::atomic<bool> is_stopped = false;
  launch::run_workers(options.workers, placement, options.seed, [&](Communicator& communicator) {
    if (plans.size() > 1) {  // none is done in vain because another one cannot be
      for (const RunPlan& plan : plans) {
        train::check_training(communicator, task, training_options(options, plan, task));
      }
    }
    for (const RunPlan& plan : plans) {
      const auto training = training_options(options, plan, task);
      if (options.resume && take_finished(communicator, plan.directory, training.configuration,
                                          training.steps, runs)) {
        continue;
      }
      if (communicator.rank() != 0) {
        const auto result = train::train(communicator, task, training);
        if (result.steps_done < training.steps) is_stopped = true;
      } else if (auto run = first.run(communicator, training)) {
        runs.push_back(std::move(*run));
      } else {
        is_stopped = true;
      }
      if (is_stopped) return;
    }
  });
  if (is_stopped) throw launch::Stopped(first.stopped());
  return runs;
}

}  // namespace gradwire::session
