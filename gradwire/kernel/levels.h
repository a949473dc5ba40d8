// Random dithering (QSGD, TernGrad): values relative to their bucket's scale become one of the
// levels -u, ..., 0, ..., u, written as level + u in a byte.
#pragma once

#include "gradwire/core/random.h"
#include "gradwire/kernel/block.h"
#include "gradwire/kernel/buckets.h"

namespace gradwire::kernel {

enum class Rounding { stochastic, nearest };

// Values beyond their scale count as the scale. Stochastic rounding has no bias and draws from
// stream.at(j) for element j; 1 <= u <= 127.
void levels_encode(std::span<const float> values, const Buckets& buckets, std::uint32_t u,
                   Rounding rounding, RandomStream stream, SymbolBlock symbols,
                   const Ahead& ahead);

void levels_decode(ConstSymbolBlock symbols, const Buckets& buckets, std::uint32_t u,
                   std::span<float> target, const Ahead& ahead);
void levels_decode_add(ConstSymbolBlock symbols, const Buckets& buckets, std::uint32_t u,
                       float weight, std::span<float> target, const Ahead& ahead);

namespace scalar {
void levels_encode(std::span<const float> values, const Buckets& buckets, std::uint32_t u,
                   Rounding rounding, RandomStream stream, SymbolBlock symbols,
                   const Ahead& ahead);
void levels_decode(ConstSymbolBlock symbols, const Buckets& buckets, std::uint32_t u,
                   std::span<float> target, const Ahead& ahead);
void levels_decode_add(ConstSymbolBlock symbols, const Buckets& buckets, std::uint32_t u,
                       float weight, std::span<float> target, const Ahead& ahead);
}  // namespace scalar

}  // namespace gradwire::kernel
