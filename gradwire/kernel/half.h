// fp16 and bf16 with stochastic rounding. What is finite stays finite: it saturates at the largest
// value of the format. Infinities stay infinite and NaN stays NaN.
#pragma once

#include "gradwire/core/random.h"
#include "gradwire/kernel/block.h"

namespace gradwire::kernel {

// Element j draws from stream.at(j). Returns false if a NaN or an infinity was met.
bool fp16_encode(std::span<const float> values, RandomStream stream, WideSymbolBlock symbols,
                 const Ahead& ahead);
void fp16_decode(ConstWideSymbolBlock symbols, std::span<float> target, const Ahead& ahead);
void fp16_decode_add(ConstWideSymbolBlock symbols, float weight, std::span<float> target,
                     const Ahead& ahead);

bool bf16_encode(std::span<const float> values, RandomStream stream, WideSymbolBlock symbols,
                 const Ahead& ahead);
void bf16_decode(ConstWideSymbolBlock symbols, std::span<float> target, const Ahead& ahead);
void bf16_decode_add(ConstWideSymbolBlock symbols, float weight, std::span<float> target,
                     const Ahead& ahead);

namespace scalar {
bool fp16_encode(std::span<const float> values, RandomStream stream, WideSymbolBlock symbols,
                 const Ahead& ahead);
void fp16_decode(ConstWideSymbolBlock symbols, std::span<float> target, const Ahead& ahead);
void fp16_decode_add(ConstWideSymbolBlock symbols, float weight, std::span<float> target,
                     const Ahead& ahead);
bool bf16_encode(std::span<const float> values, RandomStream stream, WideSymbolBlock symbols,
                 const Ahead& ahead);
void bf16_decode(ConstWideSymbolBlock symbols, std::span<float> target, const Ahead& ahead);
void bf16_decode_add(ConstWideSymbolBlock symbols, float weight, std::span<float> target,
                     const Ahead& ahead);
}  // namespace scalar

}  // namespace gradwire::kernel
