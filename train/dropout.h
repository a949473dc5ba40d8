// Dropout (Srivastava et al. 2014): what a unit's output is multiplied with while training, 0 for a
// share of the units and 1 / (1 - share) for the others. Which units, is a function of the draw and
// of the layer's name.
#pragma once

#include <cstdint>
#include <span>

#include "train/model.h"

namespace gradwire::train {

inline constexpr double kDropoutMax = 0.95;

// The layer is Rng::tensor_id("dropout of " and its name).
void draw_dropout(const Draw& draw, std::uint64_t layer, double share, std::span<float> factors);

}  // namespace gradwire::train
