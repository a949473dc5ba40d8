// Recorded gradients: the raw little-endian floats of all tensors, one after the other, and a JSON
// file with the names, shapes and offsets (in elements) of the tensors:
//   [{"name": "conv.weight", "shape": [16, 3, 3, 3], "offset": 0}, ...]
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "gradwire/method/method.h"

namespace gradwire::record {

inline constexpr const char* kShapesFile = "shapes.json";

// Write the whole file or nothing. Throw FileError.
void write_shapes(const std::filesystem::path& path, std::span<const MethodTensor> tensors);
void write_gradients(const std::filesystem::path& path,
                     std::span<const std::span<const float>> gradients);

// In the order of the offsets. Throws FileError that names a wrong entry: names must differ, and
// tensors must neither overlap nor leave gaps.
std::vector<MethodTensor> read_shapes(const std::filesystem::path& path);

// The values of all tensors, in that order. Throws FileError if the file holds fewer or more.
std::vector<float> read_gradients(const std::filesystem::path& path,
                                  std::span<const MethodTensor> tensors);

}  // namespace gradwire::record
