#include "session/train_network.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "gradwire/core/machine_threads.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/method/parsed_method.h"
#include "record/hash_text.h"
#include "record/json_file.h"
#include "session/network_task.h"
#include "session/train_series.h"
#include "train/model.h"
#include "train/training.h"

namespace gradwire::session {
namespace {

using record::Json;

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
  if (how.balance) configuration["balance"] = true;
  if (const Grace grace = grace_of(options); grace.is_given()) configuration["grace"] = grace.share;
  return configuration;
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
        evaluate_every_(evaluate_every_of(options, task, steps_)),
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
            .facts = facts()};
  }

 private:
  Json facts() const {
    Json facts = {{"steps_per_epoch", task_.steps_per_epoch()},
                  {"train_samples", task_.source->size(data::Part::train)},
                  {"test_samples", task_.source->size(data::Part::test)}};
    if (const Grace grace = grace_of(options_); grace.is_given()) facts["grace"] = grace.share;
    return facts;
  }

  train::TrainingOptions training_options(const RunPlan& plan, const RunOptions& run) const {
    return {.method = plan.method,
            .exchange = {.topology = options_.workers.topology(),
                         .server = options_.workers.server_rank(),
                         .server_contributes = !options_.workers.dedicated_server,
                         .grace = grace_of(options_)},
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
  const std::shared_ptr<const data::Source> source = open_data(options);
  const std::size_t sharing = launch::workers_on_host(placement, launch::process_environment);
  train::TaskOptions how = task_options(options, source->shape(), machine_threads() / sharing);
  how.ranks = placement.size;
  const train::Task task(source, how);
  return run_series(NetworkTrainer(options, task), options, plans, placement, console);
}

}  // namespace gradwire::session
