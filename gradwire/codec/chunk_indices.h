// Indices of fixed width: every chunk of a range keeps a known number of elements, so that an index
// needs no more bits than it takes to count within a chunk. Rice coding is shorter unless a chunk
// keeps very few. Stateless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gradwire/core/expected.h"

namespace gradwire {

// The first byte of such indices. Rice-coded ones begin with at most 31.
inline constexpr std::byte kFixedWidth{0xff};

struct ChunkCounts {
  std::size_t chunk_elements = 0;
  std::size_t kept = 0;       // of each whole chunk
  std::size_t kept_rest = 0;  // of the last one, if it is short
};

std::size_t fixed_index_bytes(std::size_t kept, const ChunkCounts& counts);

// Indices rise and are at least `first`, where a chunk starts; every chunk has its number of them.
// `scratch` has room for as many numbers. Returns the bytes used.
std::size_t fixed_indices_encode(std::span<const std::uint32_t> indices, std::uint32_t first,
                                 const ChunkCounts& counts, std::span<std::uint32_t> scratch,
                                 std::span<std::byte> out);

// Reads indices.size() indices below `range`, which is as many as the counts say, from the front of
// `in`, and returns the bytes used.
Decoded<std::size_t> fixed_indices_decode(std::span<const std::byte> in, std::size_t range,
                                          const ChunkCounts& counts,
                                          std::span<std::uint32_t> indices);

}  // namespace gradwire
