// Reads a tensor to measure with.
#pragma once

#include <string>

#include "bench/page_array.h"

namespace gradwire::bench {

// The values of a .f32 or .npy file. Throws FileError, also for a file without elements.
PageArray<float> read_input(const std::string& path);

}  // namespace gradwire::bench
