// Plain floats: copied with a look for what is not finite, and added.
#pragma once

#include "gradwire/kernel/block.h"

namespace gradwire::kernel {

// Returns false if a NaN or an infinity was met. The target has room for whole blocks.
bool copy_floats(std::span<const float> source, float* target, const Ahead& ahead);

// target += weight * source
void add_weighted(std::span<const float> source, float weight, std::span<float> target,
                  const Ahead& ahead);

// target = factor * (sum + weight * source). Returns the bits of the largest |target|. The target
// may be in the memory of the others. Any number of values.
std::uint32_t add_scaled(std::span<const float> sum, std::span<const float> source, float weight,
                         float factor, std::span<float> target);

namespace scalar {
std::uint32_t add_scaled(std::span<const float> sum, std::span<const float> source, float weight,
                         float factor, std::span<float> target);
bool copy_floats(std::span<const float> source, float* target, const Ahead& ahead);
void add_weighted(std::span<const float> source, float weight, std::span<float> target,
                  const Ahead& ahead);
}  // namespace scalar

}  // namespace gradwire::kernel
