// The idx format of MNIST, of which gradwire reads arrays of unsigned bytes. Pure functions on
// bytes.
//
//   two zero bytes, the type of the elements (8: unsigned bytes), the number of dimensions, each
//   dimension (4 bytes, big-endian), then the elements, the last dimension running fastest
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "data/refusal.h"

namespace gradwire::data {

struct IdxView {
  std::vector<std::size_t> dimensions;  // none is 0
  std::span<const std::byte> elements;  // behind the header, to the end of the bytes
};

inline constexpr std::size_t kIdxDimensionsMax = 8;

// Where the elements begin.
constexpr std::size_t idx_header_bytes(std::size_t dimensions) { return 4 + 4 * dimensions; }

// The bytes of a whole file of that many dimensions, at most kIdxDimensionsMax.
Readable<IdxView> parse_idx(std::span<const std::byte> bytes, std::size_t dimensions);

}  // namespace gradwire::data
