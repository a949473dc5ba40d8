#include "cli/train_command_convex.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/workers.h"
#include "convex/experiment.h"
#include "convex/generated.h"
#include "data/libsvm.h"
#include "convex/optimum_cache.h"
#include "gradwire/codec/spec.h"
#include "gradwire/file/file_failure.h"
#include "record/hash_text.h"
#include "record/machine.h"

namespace gradwire::cli {
namespace {

using record::Json;

constexpr const char* kCheckpoints = "checkpoints";

convex::Regulariser regulariser_of(const TrainOptions& options) {
  if (options.l1 && options.regulariser) {
    throw UsageError("--l1 A is short for --regulariser 'l1(A)': give one of them");
  }
  if (options.l1) return convex::parse_regulariser("l1(" + *options.l1 + ")");
  return convex::parse_regulariser(options.regulariser.value_or("none"));
}

std::string data_name(const TrainOptions& options) {
  return options.data.empty() ? "generated"
                              : std::filesystem::path(options.data).filename().string();
}

data::Dataset load_data(const TrainOptions& options, convex::Loss loss) {
  if (!options.data.empty()) return data::read_libsvm(options.data);
  const convex::GeneratedOptions generated{.seed = options.seed};
  return loss == convex::Loss::logistic ? convex::generate_classes(generated)
                                        : convex::generate_numbers(generated);
}

convex::ExperimentOptions experiment_options(const TrainOptions& options,
                                             const WorkerPlace& place) {
  convex::ExperimentOptions experiment{.loss = convex::loss_of(options.model),
                                       .l2 = convex::parse_l2_rule(options.l2),
                                       .regulariser = regulariser_of(options),
                                       .split = data::parse_split(options.split),
                                       .ranks = place.size,
                                       .seed = options.seed};
  if (options.workers.dedicated_server) experiment.silent_rank = options.workers.server_rank();
  return experiment;
}

// What a run that goes on must have the same. The number of workers may change.
Json same_configuration(const TrainOptions& options, const convex::Experiment& experiment) {
  return {{"model", options.model},
          {"data_checksum", record::hash_text(data::data_checksum(experiment.problem().data()))},
          {"split", options.split},
          {"method", check_method(options.method)},
          {"batch", options.batch ? Json(*options.batch) : Json()},
          {"l2", experiment.problem().l2()},
          {"regulariser", experiment.objective().regulariser.spec()},
          {"step", options.step},
          {"seed", options.seed}};
}

convex::TrainingOptions training_options(const TrainOptions& options,
                                         const convex::Experiment& experiment) {
  return {.method = options.method,
          .exchange = {.topology = options.workers.topology(),
                       .server = options.workers.server_rank(),
                       .server_contributes = !options.workers.dedicated_server,
                       .seed = options.seed},
          .steps = options.steps,
          .batch = options.batch.value_or(0),
          .step_rule = convex::parse_step_rule(options.step),
          .step_facts = experiment.step_facts(),
          .directory = run_directory(options),
          .checkpoint_every = options.checkpoint_every,
          .resume = options.resume,
          .configuration = same_configuration(options, experiment)};
}

bool holds_run(const std::filesystem::path& directory) {
  return std::ranges::any_of(
      std::array{record::kRunFile, record::kStepsFile, kCheckpoints},
      [&](const char* file) { return std::filesystem::exists(directory / file); });
}

// Nothing of an earlier run may be taken for this one's. Called when nothing can go wrong any more
// that could have been known.
void prepare_directory(const TrainOptions& options, std::uint64_t resumed_from) {
  const std::filesystem::path directory = run_directory(options);
  if (options.resume && resumed_from == 0 && holds_run(directory)) {
    fail_file(directory, "has no checkpoint to go on from: give --overwrite to start again");
  }
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure) fail_file(directory, "cannot be made: " + failure.message());
  std::filesystem::remove(directory / record::kRunFile, failure);
  if (options.resume) return;
  std::filesystem::remove_all(directory / kCheckpoints, failure);
  std::filesystem::remove(directory / record::kStepsFile, failure);
}

Json full_configuration(const TrainOptions& options, const convex::Experiment& experiment,
                        const convex::TrainingOptions& training, const WorkerPlace& place,
                        const ConvexRun& run) {
  Json configuration = training.configuration;
  configuration["data"] = run.data_name;
  configuration["rows"] = run.rows;
  configuration["features"] = run.features;
  configuration["l2_given"] = options.l2;
  configuration["learning_rate"] = run.result.learning_rate;
  configuration["smoothness"] = experiment.smoothness();
  configuration["worker_smoothness"] = training.step_facts.smoothness;
  configuration["optimum"] = {{"value", run.optimum.value},
                              {"error", run.optimum.error},
                              {"is_proven", run.optimum.is_proven}};
  configuration["topology"] = name(run.result.topology);
  configuration["transport"] = name(place.transport);
  configuration["resumed_from"] = run.result.resumed_from;
  return configuration;
}

void add_totals(const std::vector<record::StepRecord>& steps, record::RunRecord& record) {
  for (const record::StepRecord& step : steps) {
    record.bytes_up_per_worker += step.bytes_up;
    record.bytes_down_per_worker += step.bytes_down;
    record.message_bytes_per_worker += step.message_bytes;
    record.uploads += step.uploads;
    record.uploads_skipped += step.uploads_skipped;
    record.poisoned += step.poisoned ? 1 : 0;
    record.seconds.compute += step.seconds.compute;
    record.seconds.encode += step.seconds.encode;
    record.seconds.exchange += step.seconds.exchange;
    record.seconds.decode += step.seconds.decode;
  }
}

}  // namespace

std::filesystem::path run_directory(const TrainOptions& options) {
  if (!options.out.empty()) {
    const auto out = std::filesystem::path(options.out).lexically_normal();
    return out.has_filename() ? out : out.parent_path();  // "x/" is "x"
  }
  constexpr std::size_t kNameMax = 120;
  std::string safe;
  for (const char c : options.model + "-" + data_name(options) + "-" + options.method) {
    const bool is_plain = ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') ||
                          ('0' <= c && c <= '9') || c == '.' || c == '_' || c == '%';
    if (is_plain) {
      safe += c;
    } else if (!safe.ends_with('-')) {
      safe += '-';
    }
  }
  while (safe.ends_with('-')) safe.pop_back();
  return std::filesystem::path("runs") / safe.substr(0, kNameMax);
}

void check_run_directory(const TrainOptions& options) {
  if (options.overwrite || options.resume) return;
  const std::filesystem::path directory = run_directory(options);
  if (!holds_run(directory)) return;
  throw UsageError(fmt::format(
      "{} holds a run: give --resume to go on with it, --overwrite to replace it, or another "
      "--out",
      directory.string()));
}

void check_options(const TrainOptions& options) {
  check_method(options.method);
  data::parse_split(options.split);
  regulariser_of(options);
}

ConvexRun run_convex(const TrainOptions& options, const WorkerPlace& place,
                     const Console& console) {
  const convex::ExperimentOptions asked = experiment_options(options, place);
  const convex::Experiment experiment(load_data(options, asked.loss), asked);
  const convex::TrainingOptions training = training_options(options, experiment);
  ConvexRun run{.data_name = data_name(options),
                .rows = experiment.problem().data().rows.size(),
                .features = experiment.problem().features()};
  run_workers(
      {.place = place,
       .interface = options.workers.interface,
       .silence_max = options.workers.silence_max(),
       .seed = options.seed},
      [&](Communicator& communicator) {
        if (communicator.rank() != 0) {
          convex::train(communicator, experiment, training);
          return;
        }
        check_run_directory(options);
        Progress progress(console, "train", options.steps);
        convex::TrainingOptions own = training;
        own.on_ready = [&](std::uint64_t resumed_from) {
          prepare_directory(options, resumed_from);
          run.optimum = convex::find_optimum_once(
              experiment.objective(), std::filesystem::absolute(training.directory).parent_path());
          return run.optimum.value;
        };
        own.on_step = [&](std::uint64_t step) { progress.step(fmt::format("step {}", step + 1)); };
        run.result = convex::train(communicator, experiment, own);
      });
  if (!place.reports()) return run;
  run.record = {.method = run.result.method,
                .workers = place.size,
                .steps = options.steps,
                .start = run.result.start,
                .final = run.result.final,
                .model_hash = run.result.model_hash,
                .configuration = full_configuration(options, experiment, training, place, run),
                .version = GRADWIRE_VERSION,
                .machine = record::describe_machine()};
  add_totals(run.result.steps, run.record);
  record::write_run(training.directory / record::kRunFile, run.record);
  if (!std::isfinite(*run.result.final.loss)) {
    throw Error(
        fmt::format("the run diverged: its last loss is not finite. Take a shorter --step; "
                    "its record is in {}",
                    training.directory.string()));
  }
  return run;
}

}  // namespace gradwire::cli
