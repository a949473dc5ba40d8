#include "train/replica_state.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>

#include "gradwire/wire/frame.h"

namespace gradwire::train {
namespace {

constexpr const char* kValues = "values";

StateArray to_array(const std::string& memory, const Parameter& parameter,
                    std::span<const float> all) {
  const auto values = all.subspan(parameter.first, parameter.elements);
  return {.memory = memory,
          .tensor = parameter.name,
          .sharing = Sharing::replicated,
          .values = {values.begin(), values.end()}};
}

// Every vector as long as the parameters.
std::map<std::string, std::span<float>> replicas(Model& model, Optimiser& optimiser) {
  auto vectors = optimiser.memories();
  vectors[kValues] = model.values();
  return vectors;
}

}  // namespace

MethodState replica_state(Model& model, Optimiser& optimiser) {
  MethodState state;
  state.spec = model.spec();
  for (const Parameter& parameter : model.parameters()) {
    state.tensors.push_back({parameter.name, parameter.shape});
    for (const auto& [name, values] : replicas(model, optimiser)) {
      state.arrays.push_back(to_array(name, parameter, values));
    }
  }
  return state;
}

void load_replica(const MethodState& state, Model& model, Optimiser& optimiser) {
  for (const Parameter& parameter : model.parameters()) {
    for (const auto& [name, values] : replicas(model, optimiser)) {
      const StateArray& array = whole_array(state, name, parameter.name, parameter.elements);
      std::ranges::copy(array.values, values.subspan(parameter.first).begin());
    }
  }
}

std::uint64_t replica_hash(Model& model, Optimiser& optimiser) {
  std::uint64_t hash = optimiser.steps();
  for (const auto& [name, values] : replicas(model, optimiser)) {
    hash = checksum(std::as_bytes(values), hash);
  }
  return hash;
}

}  // namespace gradwire::train
