// Canonical Huffman coding of one-byte symbols, a chunk at a time. Stateless but for scratch tables
// of the caller's, one a thread; nothing is allocated.
//
// A coded chunk. The number of symbols n is not part of it; whoever frames the chunk knows it.
//
//   mode        1 byte     0: raw, 1: one symbol, 2: coded
//
//   raw:        n bytes    the symbols themselves
//   one symbol: 1 byte     the symbol, which stands n times
//   coded:
//     first     1 byte     the first symbol of the window
//     span      1 byte     symbols in the window, less one
//     lengths   (span + 2) / 2 bytes, rounded down
//                          one nibble a symbol first, first + 1, ... (modulo 256), low nibble
//                          first: the bits of its code, 1 to 11, or 0 if it does not occur. The
//                          first and the last symbol of the window occur; a nibble left over is 0.
//                          The codes are complete: the sum of 2^-length is 1.
//     streams   3 x 2 bytes, little-endian
//                          the bytes of streams 0, 1 and 2; stream 3 takes what is left
//     stream 0, 1, 2, 3    Stream s codes the symbols from s q up to (s + 1) q, where q is n / 4
//                          rounded up, cut off at n.
//
// A stream is a string of bits, lowest bits of a byte first, and its last byte is filled with
// zeros. Codes are canonical, as in DEFLATE (RFC 1951, 3.2.2): shorter codes come before longer
// ones, codes of the same length are consecutive numbers in the order of their symbols (as unsigned
// bytes), and a code is written from its highest bit to its lowest.
//
// Nothing follows the last symbol: a chunk with bytes or bits left over is damaged. Damage within
// a stream may still decode to other symbols: this is no checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gradwire/core/expected.h"

namespace gradwire {

inline constexpr std::size_t kHuffmanSymbolsMax = 128 * 1024;

// What both directions scribble on. Holds nothing between calls.
struct HuffmanTables {
  static constexpr unsigned kCodeBitsMax = 11;
  static constexpr unsigned kPairBitsMax = 12;
  static constexpr std::size_t kBlockPairs = 1024;
  static constexpr std::size_t kLanes = 4;
  static constexpr std::size_t kLanePadding =
      96;  // keeps a pair's counters apart modulo 4096 bytes

  struct Encode {
    std::uint64_t codes[256];
    std::uint64_t pair_codes[1 << kPairBitsMax];
    std::uint16_t pair_counts[kLanes][(1 << kPairBitsMax) + kLanePadding];
    std::uint32_t counts[kLanes][256];
    std::uint16_t pairs[kBlockPairs];
  };
  struct Decode {
    std::uint64_t lookup[1 << kCodeBitsMax];
    std::uint64_t sequences[1 << kCodeBitsMax];
    std::uint16_t sequence_bits[1 << kCodeBitsMax];
    std::uint8_t lengths[256];
  };
  Encode encode;
  Decode decode;
};

// The room that huffman_encode wants, somewhat more than it can use.
std::size_t huffman_bytes_max(std::size_t symbols);

// At most kHuffmanSymbolsMax symbols. Returns the bytes used.
std::size_t huffman_encode(std::span<const std::uint8_t> symbols, std::span<std::byte> coded,
                           HuffmanTables& tables);

// Fills all of `symbols` from all of `coded`, or says why the bytes do not. After an error
// `symbols` holds anything.
Decoded<void> huffman_decode(std::span<const std::byte> coded, std::span<std::uint8_t> symbols,
                             HuffmanTables& tables);

}  // namespace gradwire
