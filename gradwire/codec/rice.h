// Rice coding of rising indices: every gap between neighbours is cut into a remainder of r bits and
// a quotient in unary. Remainders and quotients lie in two bit strings, lowest bits first; a
// quotient q is q zeros and a one. Stateless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gradwire/core/expected.h"

namespace gradwire {

// The most bytes that `count` indices below `range`, or fewer, can take.
std::size_t rice_bytes_max(std::size_t count, std::size_t range);

// Indices rise and are at least `first`; they are written relative to it. Returns the bytes used.
std::size_t rice_encode(std::span<const std::uint32_t> indices, std::uint32_t first,
                        std::size_t range, std::span<std::byte> out);

// Reads indices.size() indices below `range` from the front of `in`, and returns the bytes used.
Decoded<std::size_t> rice_decode(std::span<const std::byte> in, std::size_t range,
                                 std::span<std::uint32_t> indices);

}  // namespace gradwire
