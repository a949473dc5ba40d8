// What a codec's guarantee means for the methods around it. Pure functions.
#pragma once

#include <cstddef>
#include <vector>

#include "gradwire/codec/codec.h"
#include "gradwire/method/method.h"

namespace gradwire {

// Methods with an error memory need a codec that contracts. An unbiased one does when it is scaled
// by 1 / (1 + omega), and needs no scaling while omega < 1. This is the scale, 1 or less.
float contraction_scale(const Codec& codec, std::size_t elements);
std::vector<float> contraction_scales(const Codec& codec, const std::vector<MethodTensor>& tensors);

// omega of an unbiased codec.
double omega(const Codec& codec, std::size_t elements);

// Why a method with an error memory, with shifts, or with neither cannot work with a codec; empty
// if it can.
std::string why_not_with_error_memory(const Codec& codec);
std::string why_not_with_shifts(const Codec& codec);
std::string why_not_without_memory(const Codec& codec);

}  // namespace gradwire
