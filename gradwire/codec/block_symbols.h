// The symbols of one block on their way between values and payload, as the kernels want them.
#pragma once

#include <cstdint>

#include "gradwire/kernel/block.h"

namespace gradwire {

struct BlockSymbols {
  alignas(64) std::uint8_t symbols[kernel::kSymbolRoom];
  alignas(64) std::uint8_t bits[kernel::kBitRoom];
  alignas(64) std::uint16_t wide[kernel::kSymbolRoom];
  alignas(64) float floats[kernel::kBlockElements];
  alignas(64) std::uint8_t packed[kernel::kSymbolRoom];
};

}  // namespace gradwire
