// Random dithering (QSGD, TernGrad): values relative to their bucket's scale become one of the
// levels -u, ..., 0, ..., u with u = 2^(bits - 1) - 1, written as level + u in a byte.
//
// Levels are found in fixed point: (x / scale + 1) u as an integer with 23 - bits binary places
// behind the point, so that rounding is the addition of a random number of as many bits. The
// expectation is exact to 2^-23 of the scale, which is what a float of that size carries.
#pragma once

#include "gradwire/core/random.h"
#include "gradwire/kernel/block.h"
#include "gradwire/kernel/buckets.h"

namespace gradwire::kernel {

enum class Rounding { stochastic, nearest };

struct LevelsSetting {
  unsigned bits = 0;
  Rounding rounding = Rounding::stochastic;
  bool clip = false;
};

constexpr std::uint32_t levels_of(unsigned bits) { return (1u << (bits - 1)) - 1; }

// No value is beyond its scale, except where `clip` says that such values count as the scale.
// Stochastic rounding draws from stream.at(j) for element j. 2 <= bits <= 8.
void levels_encode(std::span<const float> values, const Buckets& buckets,
                   const LevelsSetting& setting, RandomStream stream, SymbolBlock symbols,
                   const Ahead& ahead);

void levels_decode(ConstSymbolBlock symbols, const Buckets& buckets, unsigned bits,
                   std::span<float> target, const Ahead& ahead);
void levels_decode_add(ConstSymbolBlock symbols, const Buckets& buckets, unsigned bits,
                       float weight, std::span<float> target, const Ahead& ahead);

namespace scalar {
void levels_encode(std::span<const float> values, const Buckets& buckets,
                   const LevelsSetting& setting, RandomStream stream, SymbolBlock symbols,
                   const Ahead& ahead);
void levels_decode(ConstSymbolBlock symbols, const Buckets& buckets, unsigned bits,
                   std::span<float> target, const Ahead& ahead);
void levels_decode_add(ConstSymbolBlock symbols, const Buckets& buckets, unsigned bits,
                       float weight, std::span<float> target, const Ahead& ahead);
}  // namespace scalar

}  // namespace gradwire::kernel
