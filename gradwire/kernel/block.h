// The unit of work of every kernel: at most kBlockElements floats a call, eight pages of memory.
//
// While a kernel works on one block it asks for the next one, a line of each of its eight pages in
// turn: memory then sees eight streams instead of one and delivers a third more (14.8 instead of
// 10.9 GB/s on one thread of a server). The order of the arithmetic does not change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gradwire::kernel {

inline constexpr std::size_t kPageBytes = 4096;
inline constexpr std::size_t kBlockPages = 8;
inline constexpr std::size_t kBlockElements = kBlockPages * kPageBytes / sizeof(float);

// A hint: the memory that the work after this block will touch.
struct Ahead {
  const void* block = nullptr;   // kBlockElements floats, or nullptr
  const void* bytes = nullptr;   // the symbols that belong to them, where those are read
  std::size_t bytes_per_64 = 0;  // of them, for 64 floats
};

// Calls body(first, block, ahead) for the blocks of a span, in order.
template <class Float, class Body>
void for_blocks(std::span<Float> all, const Body& body) {
  for (std::size_t first = 0; first < all.size(); first += kBlockElements) {
    const std::size_t left = all.size() - first;
    const std::size_t count = left < kBlockElements ? left : kBlockElements;
    const bool whole_block_follows = left >= 2 * kBlockElements;
    Ahead ahead;
    if (whole_block_follows) ahead.block = all.data() + first + kBlockElements;
    body(first, all.subspan(first, count), ahead);
  }
}

// Symbols of one block. Always whole, however few elements are in use, and with room behind, so
// that kernels may work in full vectors: what lies behind the elements in use is undefined, and
// never read as a value.
inline constexpr std::size_t kSymbolRoom = kBlockElements + 64;
using SymbolBlock = std::span<std::uint8_t, kSymbolRoom>;
using ConstSymbolBlock = std::span<const std::uint8_t, kSymbolRoom>;
using WideSymbolBlock = std::span<std::uint16_t, kSymbolRoom>;
using ConstWideSymbolBlock = std::span<const std::uint16_t, kSymbolRoom>;
// One bit an element: element j is bit j mod 8 of byte j / 8.
inline constexpr std::size_t kBitRoom = kSymbolRoom / 8;
using BitBlock = std::span<std::uint8_t, kBitRoom>;
using ConstBitBlock = std::span<const std::uint8_t, kBitRoom>;

// Sums run over this many lanes whatever the width of the vectors, so that every machine rounds in
// the same places.
inline constexpr std::size_t kVirtualLanes = 16;

}  // namespace gradwire::kernel
