// The parameters of a model and the memories of its optimiser, which are the same on all ranks at
// every step: as a state that can be saved, and as a hash.
#pragma once

#include <cstdint>

#include "gradwire/method/state.h"
#include "train/model.h"
#include "train/optimiser.h"

namespace gradwire::train {

// The number of the optimiser's steps is not part of it.
MethodState replica_state(Model& model, Optimiser& optimiser);

// Throws Error for a state of another model or optimiser.
void load_replica(const MethodState& state, Model& model, Optimiser& optimiser);

std::uint64_t replica_hash(Model& model, Optimiser& optimiser);

}  // namespace gradwire::train
