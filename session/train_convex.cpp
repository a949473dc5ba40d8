#include "session/train_convex.h"

#include <filesystem>
#include <utility>

#include "convex/experiment.h"
#include "convex/generated.h"
#include "convex/optimum_cache.h"
#include "convex/training.h"
#include "data/libsvm.h"
#include "gradwire/method/parsed_method.h"
#include "record/hash_text.h"
#include "record/json_file.h"
#include "session/train_series.h"

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

// The configuration that a resumed run must share with the original one. The number of workers may
// change.
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

// The trainer of one experiment.
class ConvexTrainer final : public Trainer {
 public:
  ConvexTrainer(const TrainOptions& options, const convex::Experiment& experiment)
      : options_(options), experiment_(experiment), step_facts_(experiment.step_facts()) {}

  RunOptions run_options(const RunPlan& plan) const override {
    return {.steps = options_.steps.value_or(kStepsUsual),
            .checkpoint_every = options_.checkpoint_every.value_or(0),
            .configuration = same_configuration(options_, plan.method, experiment_)};
  }

  double samples_per_step() const override {
    const double rows = static_cast<double>(experiment_.problem().data().rows.size());
    const double workers = static_cast<double>(step_facts_.workers);
    return options_.batch ? static_cast<double>(*options_.batch) * workers : rows;
  }

  // Runs are short: a method that does not suit the topology is refused when its turn comes.
  void check(Communicator&, const RunPlan&) const override {}

  Trained train(Communicator& communicator, const RunPlan& plan,
                const RunOptions& run) const override {
    convex::Optimum optimum;
    auto result = convex::train(
        communicator, experiment_,
        {.method = plan.method,
         .exchange = {.topology = options_.workers.topology(),
                      .server = options_.workers.server_rank(),
                      .server_contributes = !options_.workers.dedicated_server,
                      .seed = options_.seed},
         .batch = options_.batch.value_or(0),
         .step_rule = convex::parse_step_rule(options_.convex.step),
         .step_facts = step_facts_,
         .run = run,
         .find_optimum = [&] {
           optimum = convex::find_optimum_once(
               experiment_.objective(), std::filesystem::absolute(plan.directory).parent_path());
           return optimum.value;
         }});
    Json facts = facts_of(result.learning_rate, optimum);
    return {.result = std::move(result), .facts = std::move(facts)};
  }

 private:
  Json facts_of(double learning_rate, const convex::Optimum& optimum) const {
    return {
        {"data", std::filesystem::path(options_.data_or_usual()).filename().string()},
        {"rows", experiment_.problem().data().rows.size()},
        {"features", experiment_.problem().features()},
        {"l2_given", options_.convex.l2},
        {"learning_rate", learning_rate},
        {"smoothness", experiment_.smoothness()},
        {"worker_smoothness", step_facts_.smoothness},
        {"optimum",
         {{"value", optimum.value}, {"error", optimum.error}, {"is_proven", optimum.is_proven}}}};
  }

  const TrainOptions& options_;
  const convex::Experiment& experiment_;
  const StepFacts step_facts_;
};

}  // namespace

std::vector<FinishedRun> run_convex(const TrainOptions& options, std::span<const RunPlan> plans,
                                    const launch::Placement& placement,
                                    const console::Console& console) {
  const convex::ExperimentOptions asked = experiment_options(options, placement);
  const convex::Experiment experiment(load_data(options, asked.loss), asked);
  return run_series(ConvexTrainer(options, experiment), options, plans, placement, console);
}

}  // namespace gradwire::session
