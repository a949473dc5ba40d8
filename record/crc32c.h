// CRC-32C (Castagnoli), the checksum of TensorBoard's event files. A pure function. Event files are
// small, so a table of bytes is fast enough.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gradwire::record {

inline constexpr std::array<std::uint32_t, 256> kCrc32cTable = [] {
  constexpr std::uint32_t kPolynomial = 0x82F63B78;  // with its bits reversed
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ (rest & 1 ? kPolynomial : 0);
    table[byte] = rest;
  }
  return table;
}();

constexpr std::uint32_t crc32c(std::span<const std::byte> bytes) {
  std::uint32_t rest = 0xFFFFFFFF;
  for (const std::byte byte : bytes) {
    rest = (rest >> 8) ^ kCrc32cTable[(rest ^ std::to_integer<std::uint32_t>(byte)) & 0xFF];
  }
  return ~rest;
}

}  // namespace gradwire::record
