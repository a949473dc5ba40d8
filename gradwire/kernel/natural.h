// Natural compression: every value becomes one of the two powers of two around it, without bias.
// Its 9 bits are kept as a plane of exponents and a plane of signs.
#pragma once

#include "gradwire/core/random.h"
#include "gradwire/kernel/block.h"

namespace gradwire::kernel {

// Element j draws from stream.at(j). Returns false if a NaN or an infinity was met: those keep
// their exponent 255, so they come out non-finite. Subnormals become zero; values of 2^127 and more
// are rounded down, so that what is finite stays finite.
bool natural_encode(std::span<const float> values, RandomStream stream, SymbolBlock exponents,
                    BitBlock signs, const Ahead& ahead);

void natural_decode(ConstSymbolBlock exponents, ConstBitBlock signs, std::span<float> target,
                    const Ahead& ahead);
void natural_decode_add(ConstSymbolBlock exponents, ConstBitBlock signs, float weight,
                        std::span<float> target, const Ahead& ahead);

namespace scalar {
bool natural_encode(std::span<const float> values, RandomStream stream, SymbolBlock exponents,
                    BitBlock signs, const Ahead& ahead);
void natural_decode(ConstSymbolBlock exponents, ConstBitBlock signs, std::span<float> target,
                    const Ahead& ahead);
void natural_decode_add(ConstSymbolBlock exponents, ConstBitBlock signs, float weight,
                        std::span<float> target, const Ahead& ahead);
}  // namespace scalar

}  // namespace gradwire::kernel
