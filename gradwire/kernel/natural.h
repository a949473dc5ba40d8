// Natural compression: every value becomes one of the two powers of two around it, without bias.
// Its 9 bits are kept as a plane of exponents and a plane of signs.
#pragma once

#include "gradwire/core/random.h"
#include "gradwire/kernel/block.h"
#include "gradwire/kernel/buckets.h"

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

// natural(bits=8): natural's exponents counted from their bucket's scale, a power of two that no
// value is above. A symbol is 0 for zero or the exponent less that of the scale plus 127, and the
// sign as bit 7; what dither_decode reads with 127 levels. `signs` is room to work in.
void natural_bytes_encode(std::span<const float> values, const Buckets& buckets,
                          RandomStream stream, SymbolBlock symbols, BitBlock signs,
                          const Ahead& ahead);

namespace scalar {
void natural_bytes_encode(std::span<const float> values, const Buckets& buckets,
                          RandomStream stream, SymbolBlock symbols, BitBlock signs,
                          const Ahead& ahead);
bool natural_encode(std::span<const float> values, RandomStream stream, SymbolBlock exponents,
                    BitBlock signs, const Ahead& ahead);
void natural_decode(ConstSymbolBlock exponents, ConstBitBlock signs, std::span<float> target,
                    const Ahead& ahead);
void natural_decode_add(ConstSymbolBlock exponents, ConstBitBlock signs, float weight,
                        std::span<float> target, const Ahead& ahead);
}  // namespace scalar

}  // namespace gradwire::kernel
