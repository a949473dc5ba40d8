// Exponents told relative to the largest of their group of 64, which makes them cheaper to code
// where sizes vary along a tensor, as they do from filter to filter and from layer to layer.
#pragma once

#include "gradwire/kernel/block.h"

namespace gradwire::kernel {

inline constexpr std::size_t kGroupElements = 64;
inline constexpr std::size_t kGroupsPerBlock = kBlockElements / kGroupElements;

// The exponent 0, which is the value zero, stays apart as this symbol.
inline constexpr std::uint8_t kZeroSymbol = 255;

constexpr std::size_t group_count(std::size_t elements) {
  return (elements + kGroupElements - 1) / kGroupElements;
}

// Replaces every exponent e by (largest of its group) - e, and writes the largest of each group.
void make_relative(SymbolBlock exponents, std::size_t n, std::uint8_t* largest);

// The way back; any bytes give some exponents.
void make_absolute(SymbolBlock symbols, std::size_t n, const std::uint8_t* largest);

namespace scalar {
void make_relative(SymbolBlock exponents, std::size_t n, std::uint8_t* largest);
void make_absolute(SymbolBlock symbols, std::size_t n, const std::uint8_t* largest);
}  // namespace scalar

}  // namespace gradwire::kernel
