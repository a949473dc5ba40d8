#include "session/train_convex.h"

#include <fmt/format.h>

#include <utility>

#include "console/progress.h"
#include "convex/experiment.h"
#include "convex/generated.h"
#include "convex/optimum_cache.h"
#include "convex/training.h"
#include "data/libsvm.h"
#include "gradwire/method/parsed_method.h"
#include "launch/stop_request.h"
#include "launch/workers.h"
#include "record/hash_text.h"
#include "record/machine.h"
#include "record/run_record.h"
#include "record/step_log.h"
#include "session/finished_runs.h"

namespace gradwire::session {
namespace {

using record::Json;

constexpr std::uint64_t kStepsUsual = 1000;

data::Dataset load_data(const TrainOptions& options, convex::Loss loss) {
  if (options.data_or_usual() != "generated") return data::read_libsvm(options.data);
  const convex::GeneratedOptions generated{.seed = options.seed};
  return loss == convex::Loss::logistic ? convex::generate_classes(generated)
                                        : convex::generate_numbers(generated);
}

convex::ExperimentOptions experiment_options(const TrainOptions& options,
                                             const launch::Placement& placement) {
  convex::ExperimentOptions experiment{
      .loss = convex::loss_of(options.model),
      .l2 = convex::parse_l2_rule(options.convex.l2),
      .regulariser = convex::parse_regulariser(options.regulariser_spec()),
      .split = data::parse_split(options.split),
      .ranks = placement.size,
      .seed = options.seed};
  if (options.workers.dedicated_server) experiment.dedicated_server = options.workers.server_rank();
  return experiment;
}

// What a run that goes on must have the same. The number of workers may change.
Json same_configuration(const TrainOptions& options, const std::string& method,
                        const convex::Experiment& experiment) {
  return {{"model", options.model},
          {"data_checksum", record::hash_text(data::data_checksum(experiment.problem().data()))},
          {"split", options.split},
          {"method", parse_method(method).spec},
          {"batch", options.batch ? Json(*options.batch) : Json()},
          {"l2", experiment.problem().l2()},
          {"regulariser", experiment.objective().regulariser.spec()},
          {"step", options.convex.step},
          {"seed", options.seed}};
}

convex::TrainingOptions training_options(const TrainOptions& options, const RunPlan& plan,
                                         const convex::Experiment& experiment) {
  return {.method = plan.method,
          .exchange = {.topology = options.workers.topology(),
                       .server = options.workers.server_rank(),
                       .server_contributes = !options.workers.dedicated_server,
                       .seed = options.seed},
          .steps = options.steps.value_or(kStepsUsual),
          .batch = options.batch.value_or(0),
          .step_rule = convex::parse_step_rule(options.convex.step),
          .step_facts = experiment.step_facts(),
          .directory = plan.directory,
          .checkpoint_every = options.checkpoint_every.value_or(0),
          .resume = options.resume,
          .configuration = same_configuration(options, plan.method, experiment)};
}

// One run on rank 0, and its record.
class FirstRank {
 public:
  FirstRank(const TrainOptions& options, const convex::Experiment& experiment,
            const launch::Placement& placement, const console::Console& console)
      : options_(options), experiment_(experiment), placement_(placement), console_(console) {}

  FinishedRun run(Communicator& communicator, convex::TrainingOptions training) {
    console::Progress progress(console_, "train", training.steps);
    convex::Optimum optimum;
    training.on_ready = [&](std::uint64_t resumed_from) {
      prepare_directory(training.directory, options_, resumed_from, training.configuration);
      optimum = convex::find_optimum_once(
          experiment_.objective(), std::filesystem::absolute(training.directory).parent_path());
      return optimum.value;
    };
    training.on_step = [&](std::uint64_t step) {
      // Only where somebody catches signals, and does without this run.
      if (launch::StopRequest::is_made())
        throw launch::Stopped("stopped; the run begins again next time");
      progress.step(fmt::format("step {}", step + 1));
    };
    convex::TrainingResult result = convex::train(communicator, experiment_, training);
    FinishedRun run{.directory = training.directory,
                    .record = make_record(training, result, optimum),
                    .steps = std::move(result.steps)};
    record::add_totals(run.steps, run.record);
    record::write_run(training.directory / record::kRunFile, run.record);
    return run;
  }

 private:
  record::RunRecord make_record(const convex::TrainingOptions& training,
                                const convex::TrainingResult& result,
                                const convex::Optimum& optimum) const {
    return {.method = result.method,
            .workers = placement_.size,
            .steps = training.steps,
            .parameters = experiment_.problem().features(),
            .start = result.start,
            .final = result.final,
            .model_hash = result.model_hash,
            .configuration = full_configuration(training, result, optimum),
            .version = GRADWIRE_VERSION,
            .machine = record::describe_machine()};
  }

  Json full_configuration(const convex::TrainingOptions& training,
                          const convex::TrainingResult& result,
                          const convex::Optimum& optimum) const {
    Json configuration = training.configuration;
    configuration["data"] = std::filesystem::path(options_.data_or_usual()).filename().string();
    configuration["rows"] = experiment_.problem().data().rows.size();
    configuration["features"] = experiment_.problem().features();
    configuration["l2_given"] = options_.convex.l2;
    configuration["learning_rate"] = result.learning_rate;
    configuration["smoothness"] = experiment_.smoothness();
    configuration["worker_smoothness"] = training.step_facts.smoothness;
    configuration["optimum"] = {
        {"value", optimum.value}, {"error", optimum.error}, {"is_proven", optimum.is_proven}};
    configuration["topology"] = name(result.topology);
    configuration["transport"] = name(placement_.transport);
    configuration["resumed_from"] = result.resumed_from;
    return configuration;
  }

  const TrainOptions& options_;
  const convex::Experiment& experiment_;
  const launch::Placement& placement_;
  const console::Console& console_;
};

}  // namespace

std::vector<FinishedRun> run_convex(const TrainOptions& options, std::span<const RunPlan> plans,
                                    const launch::Placement& placement,
                                    const console::Console& console) {
  const convex::ExperimentOptions asked = experiment_options(options, placement);
  const convex::Experiment experiment(load_data(options, asked.loss), asked);
  std::vector<FinishedRun> runs;
  launch::run_workers(options.workers, placement, options.seed, [&](Communicator& communicator) {
    FirstRank first(options, experiment, placement, console);
    for (const RunPlan& plan : plans) {
      const auto training = training_options(options, plan, experiment);
      if (options.resume && take_finished(communicator, plan.directory, training.configuration,
                                          training.steps, runs)) {
        continue;
      }
      if (communicator.rank() == 0) {
        runs.push_back(first.run(communicator, training));
      } else {
        convex::train(communicator, experiment, training);
      }
    }
  });
  return runs;
}

}  // namespace gradwire::session
