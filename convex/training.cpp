#include "convex/training.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <span>

#include "convex/worker.h"
#include "gradwire/file/atomic_file.h"
#include "gradwire/file/file_failure.h"
#include "gradwire/file/read_file.h"
#include "gradwire/method/parsed_method.h"
#include "gradwire/wire/frame.h"
#include "record/fields.h"
#include "record/hash_text.h"
#include "record/json_file.h"

namespace gradwire::convex {
namespace {

constexpr const char* kModelFile = "x.f64";

std::vector<double> read_model(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  std::vector<double> x(bytes.size() / sizeof(double));
  std::memcpy(x.data(), bytes.data(), x.size() * sizeof(double));
  return x;
}

std::uint64_t hash_of(std::span<const double> x) { return checksum(std::as_bytes(x)); }

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
class Training final : public session::Trainee {
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
        first_rate_(worker_.learning_rate()) {}

  TrainingResult run() {
    const double start_loss = is_first() ? objective_.value(worker_.x()) : 0;
    session::RunOptions run = options_.run;
    run.is_evaluated = [steps = run.steps](std::uint64_t step) {
      return is_report_step(step, steps);
    };
    run.on_ready = [this](std::uint64_t resumed_from) {
      if (options_.run.on_ready) options_.run.on_ready(resumed_from);
      if (options_.find_optimum) optimum_ = options_.find_optimum();
    };
    TrainingResult result{session::run_session(communicator_, *method_, *this, run)};
    if (is_first()) result.start = metrics(start_loss);
    if (is_first()) result.final = metrics(objective_.value(worker_.x()));
    result.model_hash = record::hash_text(hash_of(worker_.x()));
    result.learning_rate = first_rate_;
    result.x.assign(worker_.x().begin(), worker_.x().end());
    return result;
  }

  std::uint64_t parameters() const override { return objective_.problem.features(); }

  session::StepDone step(Method& method, std::uint64_t step) override {
    worker_.set_learning_rate(first_rate_ * options_.step_rule.share_of(step));
    return {.record = worker_.step(method, step)};
  }

  std::uint64_t hash() override {
    const std::array<std::uint64_t, 2> facts = {hash_of(worker_.x()),
                                                std::bit_cast<std::uint64_t>(first_rate_)};
    return checksum(std::as_bytes(std::span(facts)));
  }

  session::Evaluated evaluate(std::uint64_t) override {
    if (!is_first()) return {};
    return {.metrics = metrics(objective_.value(worker_.x()))};
  }

  // The newest checkpoints are kept: later ones are better, but for noise.
  bool is_better(const record::Metrics&, const record::Metrics&) const override { return false; }

  record::Json save(const std::filesystem::path& directory, bool leads_disk) override {
    if (leads_disk) {
      AtomicFile model(directory / kModelFile);
      model.write(std::as_bytes(worker_.x()));
      model.commit();
    }
    return {{"moved_squared", worker_.moved_squared()},
            {"ranks", communicator_.size()},
            {"model_hash", record::hash_text(hash_of(worker_.x()))}};
  }

  void load(const std::filesystem::path& directory, std::uint64_t,
            const record::Json& manifest) override {
    const std::vector<double> x = read_model(directory / kModelFile);
    if (record::hash_text(hash_of(x)) != record::field<std::string>(manifest, "model_hash")) {
      fail_file(directory / kModelFile, "is damaged: it is not the model that the manifest names");
    }
    worker_.set_x(x);
    worker_.set_moved_squared(record::field<double>(manifest, "moved_squared"));
  }

 private:
  bool is_first() const { return communicator_.rank() == 0; }

  record::Metrics metrics(double loss) const {
    record::Metrics metrics{.loss = loss};
    if (optimum_) metrics.gap = loss - *optimum_;
    return metrics;
  }

  Communicator& communicator_;
  const TrainingOptions& options_;
  const Objective& objective_;
  const ParsedMethod parsed_;
  std::unique_ptr<Method> method_;
  Worker worker_;
  const double first_rate_;
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
