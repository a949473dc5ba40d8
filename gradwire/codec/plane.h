// Symbol planes: what a quantiser makes of values, and how it is packed into bytes. For the entropy
// stage it goes into streams instead: see plane_streams.h.
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
    bits,       // one bit each
    wide,       // two bytes each
    floats,     // the values themselves
  };
  Kind kind = Kind::symbols;
  unsigned bits = 8;  // of Kind::symbols
};

inline constexpr std::size_t kPlanesMax = 2;  // that a quantiser has

// The symbols of a plane in a block, and how many bytes one takes; 0 for bits.
struct RawSymbols {
  std::uint8_t* memory;
  std::size_t width;
};
RawSymbols raw_symbols(const Plane& plane, BlockSymbols& block);

// Packed, block by block.
std::size_t packed_block_bytes(const Plane& plane, std::size_t count);
std::size_t packed_bytes(const Plane& plane, std::size_t count);

// The block's packed bytes. They lie in the block, until the next call.
std::span<const std::byte> pack(const Plane& plane, std::size_t count, BlockSymbols& block);
void unpack(const Plane& plane, std::size_t count, std::span<const std::byte> packed,
            BlockSymbols& block);

}  // namespace gradwire
