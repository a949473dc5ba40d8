// The tensors of a generated model. Pure functions.
#pragma once

#include <cstddef>
#include <vector>

#include "gradwire/collective/exchange.h"
#include "gradwire/method/method.h"

namespace gradwire::bench {

// Divides elements among tensors whose sizes differ as those of a network do, by up to five
// decades. The result is the same on every machine. Every tensor has at least one element, so there
// must be at least as many elements as tensors.
std::vector<TensorSize> model_tensors(std::size_t elements, std::size_t tensors);

// The same tensors as matrices, as square as their elements allow, for methods that need matrices.
// A tensor whose size has no divisor between 8 and its square root stays a vector.
std::vector<MethodTensor> as_matrices(const std::vector<TensorSize>& tensors);

}  // namespace gradwire::bench
