// What all networks have in common: memory for parameters, gradients and statistics, the loss, and
// the backward pass, on libtorch.
#pragma once

#include <cstdint>
#include <memory>

#include "data/source.h"
#include "train/design.h"
#include "train/model.h"

namespace gradwire::train {

std::unique_ptr<Model> make_torch_model(const Design& design, const data::SampleShape& shape,
                                        std::uint64_t seed);

}  // namespace gradwire::train
