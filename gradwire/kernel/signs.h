// One bit a value: its sign (0 for +0 and above), and back as plus or minus a scale.
#pragma once

#include "gradwire/kernel/block.h"

namespace gradwire::kernel {

void signs_encode(std::span<const float> values, BitBlock signs, const Ahead& ahead);
void signs_decode(ConstBitBlock signs, float scale, std::span<float> target, const Ahead& ahead);
void signs_decode_add(ConstBitBlock signs, float scale, float weight, std::span<float> target,
                      const Ahead& ahead);

namespace scalar {
void signs_encode(std::span<const float> values, BitBlock signs, const Ahead& ahead);
void signs_decode(ConstBitBlock signs, float scale, std::span<float> target, const Ahead& ahead);
void signs_decode_add(ConstBitBlock signs, float scale, float weight, std::span<float> target,
                      const Ahead& ahead);
}  // namespace scalar

}  // namespace gradwire::kernel
