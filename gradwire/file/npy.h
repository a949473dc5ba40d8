// The part of NumPy's .npy format that gradients need: little-endian float32 in C order.
// Versions 1.0, 2.0 and 3.0 are read, 1.0 is written. Pure functions on bytes.
//
//   "\x93NUMPY", version (2 bytes), header length (2 bytes; 4 from version 2.0 on),
//   header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, padded with spaces and a
//   line feed so that the data starts at a multiple of 64; then the data
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gradwire/core/expected.h"

namespace gradwire {

struct NpyView {
  std::vector<std::uint64_t> shape;
  std::span<const std::byte> data;  // shape_elements(shape) floats, perhaps not aligned
};

// The bytes of a whole file.
Decoded<NpyView> parse_npy(std::span<const std::byte> bytes);

// Everything before the data.
std::vector<std::byte> npy_header(std::span<const std::uint64_t> shape);

}  // namespace gradwire
