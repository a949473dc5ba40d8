// How lgc sends each tensor. Pure functions.
#pragma once

#include <cstddef>
#include <vector>

#include "gradwire/method/method.h"

namespace gradwire {

enum class TensorRole {
  dense,  // the first layer, and what is small or has one dimension
  last,   // the last layer
  coded,
};

// Of tensors in the order in which a backward pass has their gradients: the last layer comes first.
// A first layer that is more than a tenth of all is coded, too: to send it whole would cost more
// than all the rest.
std::vector<TensorRole> tensor_roles(const std::vector<MethodTensor>& tensors);

}  // namespace gradwire
