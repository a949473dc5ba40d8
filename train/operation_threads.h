// The threads of libtorch's operations, in the module that has libtorch (networks.h).
#pragma once

#include <cstddef>

namespace gradwire::train {

void set_torch_threads(std::size_t threads);

}  // namespace gradwire::train
