// Small whole numbers, each in as few bits as it needs: the widths repeat over the numbers, so that
// number i has widths[i % widths.size()] bits, 0 to 24. Lowest bits first, without gaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gradwire {

std::size_t packed_number_bytes(std::size_t numbers, std::span<const std::uint8_t> widths);

// Each number is below 2^width. `bytes` has exactly packed_number_bytes, as it has to unpack.
void pack_numbers(std::span<const std::uint32_t> numbers, std::span<const std::uint8_t> widths,
                  std::span<std::byte> bytes);
void unpack_numbers(std::span<const std::byte> bytes, std::span<const std::uint8_t> widths,
                    std::span<std::uint32_t> numbers);

}  // namespace gradwire
