// The sizes of a made-up model's tensors. Pure functions.
#pragma once

#include <cstddef>
#include <vector>

#include "gradwire/collective/exchange.h"

namespace gradwire::cli {

// Cuts elements into so many tensors that differ in size as those of a network do: by up to five
// decades. Always the same ones, on every machine. Every tensor gets at least one element, so there
// must be as many.
std::vector<TensorShape> model_tensors(std::size_t elements, std::size_t tensors);

}  // namespace gradwire::cli
