#include "train/learner_files.h"

#include <algorithm>
#include <span>
#include <string>

#include "gradwire/file/file_failure.h"
#include "gradwire/method/state.h"
#include "gradwire/method/state_file.h"
#include "record/fields.h"
#include "record/hash_text.h"
#include "train/replica_state.h"

namespace gradwire::train {
namespace {

using record::Json;

constexpr const char* kModel = "model.gws";
constexpr const char* kStatistics = "running statistics";

std::string statistics_file(std::size_t rank, std::size_t ranks) {
  return "statistics-rank" + std::to_string(rank) + "-of-" + std::to_string(ranks) + ".gws";
}

// The file with a rank's parameters and the optimiser's memories.
std::string model_file(const Learner& learner, std::size_t rank, std::size_t ranks) {
  if (!learner.is_local()) return kModel;
  return "worker-rank" + std::to_string(rank) + "-of-" + std::to_string(ranks) + ".gws";
}

void load_model(const std::filesystem::path& path, Learner& learner) {
  try {
    load_replica(read_state(path), learner.model(), learner.optimiser());
  } catch (const FileError&) {
    throw;
  } catch (const Error& error) {
    fail_file(path, error.what());
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
  const StateArray* const array = find_array(state, kStatistics, kStatistics);
  if (array == nullptr || array->values.size() != learner.model().statistics().size()) {
    fail_file(path, "has not the running statistics of this model");
  }
  std::ranges::copy(array->values, learner.model().statistics().begin());
}

}  // namespace

std::uint64_t replica_hash(Learner& learner) {
  return replica_hash(learner.model(), learner.optimiser());
}

Json save_learner(const std::filesystem::path& directory, std::size_t rank, std::size_t ranks,
                  bool leads_disk, Learner& learner) {
  if (!learner.model().statistics().empty()) {
    write_state(directory / statistics_file(rank, ranks), statistics_state(learner, rank, ranks));
  }
  if (leads_disk || learner.is_local()) {
    write_state(directory / model_file(learner, rank, ranks),
                replica_state(learner.model(), learner.optimiser()));
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
