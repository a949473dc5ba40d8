// Tensors in files of common formats: .f32 (raw little-endian floats, no shape) and
// .npy (NumPy). The extension decides. Everything throws FileError.
#pragma once

#include <filesystem>

#include "gradwire/file/tensor.h"

namespace gradwire {

Tensor read_tensor(const std::filesystem::path& path);

// Writes the whole file or nothing. A tensor without a shape gives an .npy of one dimension.
void write_tensor(const std::filesystem::path& path, const Tensor& tensor);

// Throws if write_tensor would refuse the extension of the path. Call it before a long computation.
void check_tensor_path(const std::filesystem::path& path);

}  // namespace gradwire
