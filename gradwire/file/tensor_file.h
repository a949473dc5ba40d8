// Tensors in files that other programs understand: .f32 (raw little-endian floats, no shape) and
// .npy (NumPy). The extension decides. Everything throws FileError.
#pragma once

#include <filesystem>

#include "gradwire/file/tensor.h"

namespace gradwire {

Tensor read_tensor(const std::filesystem::path& path);

// The file appears whole or not at all. An .npy of a tensor without a shape has one dimension.
void write_tensor(const std::filesystem::path& path, const Tensor& tensor);

// Refuses a path that write_tensor would refuse by its name, before the work of making the tensor.
void check_tensor_path(const std::filesystem::path& path);

}  // namespace gradwire
