#include "session/rank/checkpoint.h"

#include <string>
#include <utility>

#include "gradwire/core/error.h"
#include "gradwire/method/state_file.h"
#include "record/checkpoint_directory.h"
#include "record/fields.h"
#include "record/run_record.h"

namespace gradwire::session {
namespace {

using record::Json;

Progress progress_of(const Json& manifest, std::uint64_t step) {
  Progress progress{.step = step};
  if (!manifest.contains("metrics")) return progress;  // 0.1 did not write them for all models
  progress.metrics = record::metrics_from(record::field<Json>(manifest, "metrics"));
  progress.best = record::metrics_from(record::field<Json>(manifest, "best"));
  if (!record::field<Json>(manifest, "best_step").is_null()) {
    progress.best_step = record::field<std::uint64_t>(manifest, "best_step");
  }
  return progress;
}

}  // namespace

void save_checkpoint(Communicator& communicator, const CheckpointOptions& options,
                     const Method& method, Trainee& trainee, const Progress& progress) {
  const auto directory = record::begin_checkpoint(options.directory, progress.step);
  save_method(method, directory, communicator.rank(), communicator.size());
  Json manifest = trainee.save(directory);
  communicator.barrier();
  if (communicator.rank() != 0) return;
  manifest["metrics"] = record::to_json(progress.metrics);
  manifest["best_step"] = progress.best_step ? Json(*progress.best_step) : Json();
  manifest["best"] = record::to_json(progress.best);
  record::complete_checkpoint(directory, progress.step, options.configuration, std::move(manifest));
  record::remove_old_checkpoints(options.directory, options.kept, progress.best_step);
}

std::optional<Progress> load_checkpoint(Communicator& communicator,
                                        const CheckpointOptions& options, std::uint64_t steps,
                                        Method& method, Trainee& trainee) {
  const auto found = record::whole_checkpoints(options.directory);
  if (found.empty()) return std::nullopt;
  const record::WholeCheckpoint& newest = found.back();
  const Json manifest = record::read_manifest(newest, options.configuration);
  if (newest.step > steps) {
    throw Error("the newest checkpoint is that of step " + std::to_string(newest.step) +
                ", which is after the last one asked for, " + std::to_string(steps) +
                ": ask for more steps, or for another directory");
  }
  load_method(method, newest.directory, communicator.rank(), communicator.size());
  trainee.load(newest.directory, newest.step, manifest);
  return progress_of(manifest, newest.step);
}

}  // namespace gradwire::session
