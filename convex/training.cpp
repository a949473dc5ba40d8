#include "convex/training.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>

#include "convex/checkpoint.h"
#include "convex/worker.h"
#include "gradwire/collective/rank_sums.h"
#include "gradwire/method/parsed_method.h"
#include "gradwire/wire/frame.h"
#include "record/checkpoint_directory.h"
#include "record/hash_text.h"
#include "record/step_log.h"

namespace gradwire::convex {
namespace {

// The length of a step: as asked for, or by the method's own rule.
double resolve(const TrainingOptions& options, const ParsedMethod& parsed, const Method& method,
               std::size_t features, std::size_t ranks) {
  if (const auto given = options.step_rule.value(options.step_facts.smoothness)) return *given;
  StepFacts facts = options.step_facts;
  facts.ranks = ranks;
  facts.elements = features;
  facts.topology = method.topology();
  return parsed.safe_step(facts);
}

// The run on one rank.
class Training {
 public:
  Training(Communicator& communicator, const Experiment& experiment, const TrainingOptions& options)
      : communicator_(communicator),
        options_(options),
        objective_(experiment.objective()),
        parsed_(parse_method(options.method)),
        method_(parsed_.make(communicator,
                             {{.name = "x", .shape = {objective_.problem.features()}}},
                             options.exchange)),
        worker_(experiment,
                {.rank = communicator.rank(),
                 .batch = options.batch,
                 .seed = options.exchange.seed,
                 .learning_rate = resolve(options, parsed_, *method_, objective_.problem.features(),
                                          communicator.size())}),
        log_(communicator) {}

  TrainingResult run() {
    const double start_loss = is_first() ? objective_.value(worker_.x()) : 0;
    if (options_.resume) resume();
    check_same("what they begin with");
    if (is_first() && options_.on_ready) optimum_ = options_.on_ready(result_.resumed_from);
    if (is_first()) result_.start = metrics(start_loss);
    if (is_first()) log_.open(options_.directory / record::kStepsFile, result_.resumed_from);
    for (std::uint64_t step = result_.resumed_from; step < options_.steps; ++step) {
      if (is_first() && options_.on_step) options_.on_step(step);
      log_.add(worker_.step(*method_, step));
      meet_if_due(step + 1);
    }
    if (is_first()) result_.final = metrics(objective_.value(worker_.x()));
    result_.method = method_->spec();
    result_.topology = method_->topology();
    result_.learning_rate = worker_.learning_rate();
    result_.model_hash = record::hash_text(model_hash());
    result_.x.assign(worker_.x().begin(), worker_.x().end());
    result_.steps = log_.take_steps();
    return std::move(result_);
  }

 private:
  bool is_first() const { return communicator_.rank() == 0; }
  std::uint64_t model_hash() const { return checksum(std::as_bytes(worker_.x())); }

  record::Metrics metrics(double loss) const {
    record::Metrics metrics{.loss = loss};
    if (optimum_) metrics.gap = loss - *optimum_;
    return metrics;
  }

  void check_same(const std::string& what) {
    const std::uint64_t facts[] = {model_hash(), result_.resumed_from,
                                   std::bit_cast<std::uint64_t>(worker_.learning_rate())};
    check_same_on_all_ranks(communicator_, checksum(std::as_bytes(std::span(facts))), what);
  }

  void resume() {
    auto checkpoint = load_checkpoint(
        communicator_, *method_, options_.directory / record::kCheckpoints, options_.configuration);
    if (!checkpoint) return;
    if (checkpoint->step > options_.steps) {
      throw Error("the newest checkpoint is that of step " + std::to_string(checkpoint->step) +
                  ", which is behind the last one asked for, " + std::to_string(options_.steps) +
                  ": ask for more steps, or for another directory");
    }
    worker_.set_x(checkpoint->x);
    worker_.set_moved_squared(checkpoint->moved_squared);
    result_.resumed_from = checkpoint->step;
  }

  void meet_if_due(std::uint64_t done) {
    const std::uint64_t every = options_.checkpoint_every;
    const bool is_checkpoint = every > 0 && done % every == 0;
    const bool is_report = is_report_step(done, options_.steps);
    if (!is_checkpoint && !is_report) return;
    check_same("the model after step " + std::to_string(done));
    record::Metrics found;
    if (is_report && is_first()) found = metrics(objective_.value(worker_.x()));
    log_.meet(found, {});
    if (!is_checkpoint) return;
    save_checkpoint(communicator_, *method_, options_.directory / record::kCheckpoints,
                    options_.configuration,
                    {.step = done,
                     .x = {worker_.x().begin(), worker_.x().end()},
                     .moved_squared = worker_.moved_squared()});
  }

  Communicator& communicator_;
  const TrainingOptions& options_;
  const Objective& objective_;
  const ParsedMethod parsed_;
  std::unique_ptr<Method> method_;
  Worker worker_;
  record::StepLog log_;
  TrainingResult result_;
  std::optional<double> optimum_;  // rank 0 only
};

}  // namespace

bool is_report_step(std::uint64_t step, std::uint64_t steps) {
  constexpr std::uint64_t kReports = 20;
  return step == steps || step * kReports / steps != (step - 1) * kReports / steps;
}

TrainingResult train(Communicator& communicator, const Experiment& experiment,
                     const TrainingOptions& options) {
  return Training(communicator, experiment, options).run();
}

}  // namespace gradwire::convex
