// What encoding and decoding promise together, whatever the values.
#pragma once

#include <cstdint>
#include <span>

#include "gradwire/codec/codec.h"

namespace gradwire::fuzz {

// Encodes the tensor as a whole and cut at random multiples of the codec's bucket, and decodes.
// GW_CHECKs that payloads stay below their bound and are decoded, and only they; that the cuts make
// no difference; and that what is not finite is noticed and stays so.
void check_round_trip(const Codec& codec, std::span<const float> tensor, std::uint64_t seed);

}  // namespace gradwire::fuzz
