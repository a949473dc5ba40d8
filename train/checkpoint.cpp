#include "train/checkpoint.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "gradwire/file/file_failure.h"
#include "gradwire/method/state.h"
#include "gradwire/method/state_file.h"
#include "gradwire/wire/frame.h"
#include "record/checkpoint_directory.h"
#include "record/fields.h"
#include "record/hash_text.h"

namespace gradwire::train {
namespace {

using record::Json;

constexpr const char* kModel = "model.gws";
constexpr const char* kValues = "values";
constexpr const char* kStatistics = "running statistics";

std::string statistics_file(std::size_t rank, std::size_t ranks) {
  return "statistics-rank" + std::to_string(rank) + "-of-" + std::to_string(ranks) + ".gws";
}

StateArray to_array(const std::string& memory, const Parameter& parameter,
                    std::span<const float> all) {
  const auto values = all.subspan(parameter.first, parameter.elements);
  return {.memory = memory,
          .tensor = parameter.name,
          .sharing = Sharing::replicated,
          .values = {values.begin(), values.end()}};
}

// Every vector as long as the parameters.
std::map<std::string, std::span<float>> replicas(Learner& learner) {
  auto vectors = learner.optimiser().memories();
  vectors[kValues] = learner.model().values();
  return vectors;
}

MethodState model_state(Learner& learner) {
  MethodState state;
  state.spec = learner.model().spec();
  for (const Parameter& parameter : learner.model().parameters()) {
    state.tensors.push_back({parameter.name, parameter.shape});
    for (const auto& [name, values] : replicas(learner)) {
      state.arrays.push_back(to_array(name, parameter, values));
    }
  }
  return state;
}

const StateArray* find(const MethodState& state, const std::string& memory,
                       const std::string& tensor) {
  const auto found = std::ranges::find_if(state.arrays, [&](const StateArray& array) {
    return array.memory == memory && array.tensor == tensor;
  });
  return found == state.arrays.end() ? nullptr : &*found;
}

void load_model(const std::filesystem::path& path, Learner& learner) {
  const MethodState state = read_state(path);
  for (const Parameter& parameter : learner.model().parameters()) {
    for (const auto& [name, values] : replicas(learner)) {
      const StateArray* const array = find(state, name, parameter.name);
      if (array == nullptr || array->values.size() != parameter.elements) {
        fail_file(path, "has no " + name + " of " + parameter.name + " with " +
                            std::to_string(parameter.elements) + " elements");
      }
      std::ranges::copy(array->values, values.subspan(parameter.first).begin());
    }
  }
}

MethodState statistics_state(Learner& learner, const Communicator& communicator) {
  const std::span<const float> own = learner.model().statistics();
  MethodState state;
  state.spec = learner.model().spec();
  state.rank = communicator.rank();
  state.ranks = communicator.size();
  state.tensors = {{kStatistics, {own.size()}}};
  state.arrays = {{kStatistics, kStatistics, Sharing::worker, 0, {own.begin(), own.end()}}};
  return state;
}

void load_statistics(const std::filesystem::path& path, Learner& learner) {
  const MethodState state = read_state(path);
  const StateArray* const array = find(state, kStatistics, kStatistics);
  if (array == nullptr || array->values.size() != learner.model().statistics().size()) {
    fail_file(path, "has not the running statistics of this model");
  }
  std::ranges::copy(array->values, learner.model().statistics().begin());
}

Json optional_step(const std::optional<std::uint64_t>& step) { return step ? Json(*step) : Json(); }

Progress progress_of(const Json& manifest, std::uint64_t step) {
  Progress progress{.step = step,
                    .metrics = record::metrics_from(record::field<Json>(manifest, "metrics")),
                    .best = record::metrics_from(record::field<Json>(manifest, "best"))};
  const Json best_step = record::field<Json>(manifest, "best_step");
  if (!best_step.is_null())
    progress.best_step = record::field<std::uint64_t>(manifest, "best_step");
  return progress;
}

}  // namespace

bool is_better(const record::Metrics& metrics, const record::Metrics& than, bool by_accuracy) {
  if (by_accuracy && metrics.accuracy != than.accuracy) return metrics.accuracy > than.accuracy;
  if (!metrics.test_loss || !than.test_loss) return metrics.test_loss.has_value();
  return *metrics.test_loss < *than.test_loss;
}

std::uint64_t replica_hash(Learner& learner) {
  std::uint64_t hash = learner.optimiser().steps();
  for (const auto& [name, values] : replicas(learner)) {
    hash = checksum(std::as_bytes(values), hash);
  }
  return hash;
}

void save_checkpoint(Communicator& communicator, const CheckpointOptions& options, Learner& learner,
                     const Method& method, const Progress& progress) {
  const auto place = record::begin_checkpoint(options.directory, progress.step);
  save_method(method, place, communicator.rank(), communicator.size());
  if (!learner.model().statistics().empty()) {
    write_state(place / statistics_file(communicator.rank(), communicator.size()),
                statistics_state(learner, communicator));
  }
  if (communicator.rank() == 0) write_state(place / kModel, model_state(learner));
  communicator.barrier();
  if (communicator.rank() != 0) return;
  record::complete_checkpoint(place, progress.step, options.configuration,
                              {{"optimiser_steps", learner.optimiser().steps()},
                               {"moved_squared", learner.moved_squared()},
                               {"replica_hash", record::hash_text(replica_hash(learner))},
                               {"metrics", record::to_json(progress.metrics)},
                               {"best_step", optional_step(progress.best_step)},
                               {"best", record::to_json(progress.best)}});
  record::remove_old_checkpoints(options.directory, options.kept, progress.best_step);
}

std::optional<Progress> load_checkpoint(Communicator& communicator,
                                        const CheckpointOptions& options, Learner& learner,
                                        Method& method) {
  const auto found = record::whole_checkpoints(options.directory);
  if (found.empty()) return std::nullopt;
  const std::filesystem::path& place = found.back().place;
  const Json manifest = record::read_manifest(found.back(), options.configuration);
  load_model(place / kModel, learner);
  if (!learner.model().statistics().empty()) {
    load_statistics(place / statistics_file(communicator.rank(), communicator.size()), learner);
  }
  load_method(method, place, communicator.rank(), communicator.size());
  learner.optimiser().set_steps(record::field<std::uint64_t>(manifest, "optimiser_steps"));
  learner.set_moved_squared(record::field<double>(manifest, "moved_squared"));
  if (record::hash_text(replica_hash(learner)) !=
      record::field<std::string>(manifest, "replica_hash")) {
    fail_file(place / kModel, "is not the model that the manifest names");
  }
  return progress_of(manifest, found.back().step);
}

}  // namespace gradwire::train
