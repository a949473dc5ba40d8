// Symbol planes: what a quantiser makes of values, and how it goes into bytes, packed or as streams
// of bytes for the entropy stage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gradwire/codec/block_symbols.h"

namespace gradwire {

// Symbols of one kind, one for every element.
struct Plane {
  enum class Kind {
    symbols,    // one byte each, of which `bits` bits (2 to 8) are used
    exponents,  // one byte each; coded relative to their neighbours
    trits,      // one byte each: 0, 1 or 2
    bits,       // one bit each, and nothing to gain from entropy coding
    wide,       // two bytes each
    floats,     // the values themselves
  };
  Kind kind = Kind::symbols;
  unsigned bits = 8;  // of Kind::symbols
};

inline bool is_entropy_coded(const Plane& plane) { return plane.kind != Plane::Kind::bits; }

// --- Packed: block by block ---

std::size_t packed_block_bytes(const Plane& plane, std::size_t count);
std::size_t packed_bytes(const Plane& plane, std::size_t count);

// The block's packed bytes. They lie in the block, until the next call.
std::span<const std::byte> pack(const Plane& plane, std::size_t count, BlockSymbols& block);
void unpack(const Plane& plane, std::size_t count, std::span<const std::byte> packed,
            BlockSymbols& block);

// --- As streams of bytes, one a byte of a symbol (lowest first); exponents have a second one for
// the largest of each group of 64 ---

std::size_t stream_count(const Plane& plane);
// Bytes of stream k for `count` elements; `count` is a multiple of a block, or the last.
std::size_t stream_bytes(const Plane& plane, std::size_t k, std::size_t count);

// Stream k of the block goes to, or comes from, streams[k].
void split(const Plane& plane, std::size_t count, BlockSymbols& block,
           std::span<std::uint8_t* const> streams);
void join(const Plane& plane, std::size_t count, std::span<const std::uint8_t* const> streams,
          BlockSymbols& block);

inline constexpr std::size_t kStreamsMax = 4;

}  // namespace gradwire
