// Shared by the Huffman encoder and decoder, and for them only. The format is in huffman.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "gradwire/codec/huffman.h"

namespace gradwire::huffman {

enum Mode : std::uint8_t { kRaw = 0, kOneSymbol = 1, kCoded = 2 };

inline constexpr unsigned kCodeBitsMax = HuffmanTables::kCodeBitsMax;
inline constexpr std::size_t kStreams = 4;
inline constexpr std::size_t kStreamSizesBytes = 2 * (kStreams - 1);
static_assert((kHuffmanSymbolsMax / kStreams * kCodeBitsMax + 7) / 8 <= 0xffff);

using Lengths = std::array<std::uint8_t, 256>;

// Where the symbols of a stream begin.
inline std::size_t stream_begin(std::size_t stream, std::size_t symbols) {
  return std::min(symbols, stream * ((symbols + kStreams - 1) / kStreams));
}

// Canonical codes in the order in which their bits are written, lowest first.
std::array<std::uint16_t, 256> bit_codes(const std::uint8_t* lengths);

}  // namespace gradwire::huffman
