// Two bits a value: its sign, and which one of two magnitudes it is nearer to. Bit 1 of a symbol is
// the sign, bit 0 says that the magnitude is the upper one.
#pragma once

#include "gradwire/kernel/block.h"

namespace gradwire::kernel {

// The two magnitudes of a bucket. NaN marks a bucket with a value that is not finite.
struct TwoLevels {
  float lower = 0;
  float upper = 0;

  // Magnitudes above it are nearer to the upper one. Halves first: the sum may be infinite.
  float between() const { return 0.5F * lower + 0.5F * upper; }
};

// The means of the magnitudes up to the mean magnitude, and of those above it. Of any number of
// values; sums are taken as sums.h says.
TwoLevels two_levels_of(std::span<const float> values);

// At most a block.
void two_levels_encode(std::span<const float> values, const TwoLevels& levels,
                       std::span<std::uint8_t> symbols, const Ahead& ahead);
// The symbols are followed by room for a vector, as in a SymbolBlock.
void two_levels_decode(const std::uint8_t* symbols, const TwoLevels& levels,
                       std::span<float> target, const Ahead& ahead);
void two_levels_decode_add(const std::uint8_t* symbols, const TwoLevels& levels, float weight,
                           std::span<float> target, const Ahead& ahead);

namespace scalar {
TwoLevels two_levels_of(std::span<const float> values);
void two_levels_encode(std::span<const float> values, const TwoLevels& levels,
                       std::span<std::uint8_t> symbols, const Ahead& ahead);
void two_levels_decode(const std::uint8_t* symbols, const TwoLevels& levels,
                       std::span<float> target, const Ahead& ahead);
void two_levels_decode_add(const std::uint8_t* symbols, const TwoLevels& levels, float weight,
                           std::span<float> target, const Ahead& ahead);
}  // namespace scalar

}  // namespace gradwire::kernel
