// Natural dithering: values relative to their bucket's scale become one of 0, 2^(1-s), ..., 1/4,
// 1/2, 1, without bias, with the sign. A symbol is the level's number, 0 to s, and the sign as the
// bit above it.
#pragma once

#include "gradwire/core/random.h"
#include "gradwire/kernel/block.h"
#include "gradwire/kernel/buckets.h"

namespace gradwire::kernel {

struct Dither {
  std::uint32_t levels = 0;    // s: 1 to kDitherLevelsMax
  std::uint32_t sign_bit = 0;  // the sign is bit `sign_bit` of a symbol: 2^sign_bit > s
};

inline constexpr std::uint32_t kDitherLevelsMax = 100;

// No value is beyond its scale. Element j draws from stream.at(j).
void dither_encode(std::span<const float> values, const Buckets& buckets, Dither dither,
                   RandomStream stream, SymbolBlock symbols, const Ahead& ahead);

void dither_decode(ConstSymbolBlock symbols, const Buckets& buckets, Dither dither,
                   std::span<float> target, const Ahead& ahead);
void dither_decode_add(ConstSymbolBlock symbols, const Buckets& buckets, Dither dither,
                       float weight, std::span<float> target, const Ahead& ahead);

namespace scalar {
void dither_encode(std::span<const float> values, const Buckets& buckets, Dither dither,
                   RandomStream stream, SymbolBlock symbols, const Ahead& ahead);
void dither_decode(ConstSymbolBlock symbols, const Buckets& buckets, Dither dither,
                   std::span<float> target, const Ahead& ahead);
void dither_decode_add(ConstSymbolBlock symbols, const Buckets& buckets, Dither dither,
                       float weight, std::span<float> target, const Ahead& ahead);
}  // namespace scalar

}  // namespace gradwire::kernel
