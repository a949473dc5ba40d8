#include "gradwire/core/bit_pack.h"

#include <numeric>

#include "gradwire/core/check.h"

namespace gradwire {

std::size_t packed_number_bytes(std::size_t numbers, std::span<const std::uint8_t> widths) {
  GW_CHECK(!widths.empty());
  const std::size_t rest = numbers % widths.size();
  const auto some = widths.first(rest);
  const std::size_t period = std::accumulate(widths.begin(), widths.end(), std::size_t{0});
  const std::size_t bits =
      numbers / widths.size() * period + std::accumulate(some.begin(), some.end(), std::size_t{0});
  return (bits + 7) / 8;
}

void pack_numbers(std::span<const std::uint32_t> numbers, std::span<const std::uint8_t> widths,
                  std::span<std::byte> bytes) {
  GW_CHECK(bytes.size() == packed_number_bytes(numbers.size(), widths));
  std::uint64_t held = 0;
  unsigned held_bits = 0;
  std::size_t at = 0;
  std::size_t turn = 0;
  for (const std::uint32_t number : numbers) {
    held |= std::uint64_t{number} << held_bits;
    held_bits += widths[turn];
    turn = turn + 1 == widths.size() ? 0 : turn + 1;
    for (; held_bits >= 8; held_bits -= 8, held >>= 8) bytes[at++] = static_cast<std::byte>(held);
  }
  if (held_bits > 0) bytes[at++] = static_cast<std::byte>(held);
  GW_CHECK(at == bytes.size());
}

void unpack_numbers(std::span<const std::byte> bytes, std::span<const std::uint8_t> widths,
                    std::span<std::uint32_t> numbers) {
  GW_CHECK(bytes.size() == packed_number_bytes(numbers.size(), widths));
  std::uint64_t held = 0;
  unsigned held_bits = 0;
  std::size_t at = 0;
  std::size_t turn = 0;
  for (std::uint32_t& number : numbers) {
    const unsigned width = widths[turn];
    turn = turn + 1 == widths.size() ? 0 : turn + 1;
    for (; held_bits < width; held_bits += 8) {
      held |= static_cast<std::uint64_t>(bytes[at++]) << held_bits;
    }
    number = static_cast<std::uint32_t>(held & ((std::uint64_t{1} << width) - 1));
    held >>= width;
    held_bits -= width;
  }
}

}  // namespace gradwire
