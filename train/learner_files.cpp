#include "train/learner_files.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>

#include "gradwire/file/file_failure.h"
#include "gradwire/method/state.h"
#include "gradwire/method/state_file.h"
#include "gradwire/wire/frame.h"
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

// The file with a rank's parameters and the optimiser's memories.
std::string model_file(const Learner& learner, std::size_t rank, std::size_t ranks) {
  if (!learner.is_local()) return kModel;
  return "worker-rank" + std::to_string(rank) + "-of-" + std::to_string(ranks) + ".gws";
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

MethodState statistics_state(Learner& learner, std::size_t rank, std::size_t ranks) {
  const std::span<const float> own = learner.model().statistics();
  MethodState state;
  state.spec = learner.model().spec();
  state.rank = rank;
  state.ranks = ranks;
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

}  // namespace

std::uint64_t replica_hash(Learner& learner) {
  std::uint64_t hash = learner.optimiser().steps();
  for (const auto& [name, values] : replicas(learner)) {
    hash = checksum(std::as_bytes(values), hash);
  }
  return hash;
}

Json save_learner(const std::filesystem::path& directory, std::size_t rank, std::size_t ranks,
                  bool leads_disk, Learner& learner) {
  if (!learner.model().statistics().empty()) {
    write_state(directory / statistics_file(rank, ranks), statistics_state(learner, rank, ranks));
  }
  if (leads_disk || learner.is_local()) {
    write_state(directory / model_file(learner, rank, ranks), model_state(learner));
  }
  return {{"optimiser_steps", learner.optimiser().steps()},
          {"moved_squared", learner.moved_squared()},
          {"replica_hash", record::hash_text(replica_hash(learner))}};
}

void load_learner(const std::filesystem::path& directory, const Json& manifest, std::size_t rank,
                  std::size_t ranks, Learner& learner) {
  const std::filesystem::path model = directory / model_file(learner, rank, ranks);
  load_model(model, learner);
  if (!learner.model().statistics().empty()) {
    load_statistics(directory / statistics_file(rank, ranks), learner);
  }
  learner.optimiser().set_steps(record::field<std::uint64_t>(manifest, "optimiser_steps"));
  learner.set_moved_squared(record::field<double>(manifest, "moved_squared"));
  // The manifest has the hash of rank 0.
  const bool is_known = rank == 0 || !learner.is_local();
  if (is_known && record::hash_text(replica_hash(learner)) !=
                      record::field<std::string>(manifest, "replica_hash")) {
    fail_file(model, "is not the model that the manifest names");
  }
}

}  // namespace gradwire::train
