// The sizes of a made-up model's tensors. Pure functions.
#pragma once

#include <cstddef>
#include <vector>

#include "gradwire/collective/exchange.h"
#include "gradwire/method/method.h"

namespace gradwire::bench {

// Cuts elements into so many tensors that differ in size as those of a network do: by up to five
// decades. Always the same ones, on every machine. Every tensor gets at least one element, so there
// must be as many.
std::vector<TensorSize> model_tensors(std::size_t elements, std::size_t tensors);

// The same tensors as matrices, as square as their elements allow: for methods that see matrices.
// What has no divisor between 8 and its square root stays a vector.
std::vector<MethodTensor> as_matrices(const std::vector<TensorSize>& tensors);

}  // namespace gradwire::bench
