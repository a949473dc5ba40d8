#include "gradwire/codec/chunk_indices.h"

#include <algorithm>
#include <bit>

#include "gradwire/core/bit_pack.h"
#include "gradwire/core/check.h"

namespace gradwire {
namespace {

std::uint8_t width_of(const ChunkCounts& counts) {
  return static_cast<std::uint8_t>(std::bit_width(counts.chunk_elements - 1));
}

}  // namespace

std::size_t fixed_index_bytes(std::size_t kept, const ChunkCounts& counts) {
  const std::uint8_t width = width_of(counts);
  return 1 + packed_number_bytes(kept, {&width, 1});
}

std::size_t fixed_indices_encode(std::span<const std::uint32_t> indices, std::uint32_t first,
                                 const ChunkCounts& counts, std::span<std::uint32_t> scratch,
                                 std::span<std::byte> out) {
  const std::size_t bytes = fixed_index_bytes(indices.size(), counts);
  GW_CHECK(bytes <= out.size() && scratch.size() >= indices.size());
  const auto chunk = static_cast<std::uint32_t>(counts.chunk_elements);
  for (std::size_t i = 0; i < indices.size(); ++i) scratch[i] = (indices[i] - first) % chunk;
  const std::uint8_t width = width_of(counts);
  out[0] = kFixedWidth;
  pack_numbers(scratch.first(indices.size()), {&width, 1}, out.subspan(1, bytes - 1));
  return bytes;
}

Decoded<std::size_t> fixed_indices_decode(std::span<const std::byte> in, std::size_t range,
                                          const ChunkCounts& counts,
                                          std::span<std::uint32_t> indices) {
  const std::size_t bytes = fixed_index_bytes(indices.size(), counts);
  if (in.size() < bytes) return Unexpected{DecodeError{"indices are cut off", in.size()}};
  const std::uint8_t width = width_of(counts);
  unpack_numbers(in.subspan(1, bytes - 1), {&width, 1}, indices);
  std::size_t read = 0;
  for (std::size_t first = 0; first < range; first += counts.chunk_elements) {
    const std::size_t elements = std::min(counts.chunk_elements, range - first);
    const std::size_t kept = elements == counts.chunk_elements ? counts.kept : counts.kept_rest;
    std::size_t expected = 0;  // the least that the next index can be
    for (std::size_t i = 0; i < kept; ++i, ++read) {
      const std::size_t at = indices[read];
      if (at < expected) return Unexpected{DecodeError{"indices do not rise", 1}};
      if (at >= elements) return Unexpected{DecodeError{"an index is out of range", 1}};
      expected = at + 1;
      indices[read] = static_cast<std::uint32_t>(first + at);
    }
  }
  GW_CHECK(read == indices.size());
  return bytes;
}

}  // namespace gradwire
