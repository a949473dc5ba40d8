// What methods do to whole vectors: sums of two, and a shift that follows a mean. Every element is
// rounded in the same places whatever the width of the vectors.
#pragma once

#include <span>

namespace gradwire::kernel {

// out = a x + b y. All have the same length; out may be x or y.
void combine(float a, std::span<const float> x, float b, std::span<const float> y,
             std::span<float> out);

// out = shift + mean, then shift += rate * mean.
void follow(std::span<float> shift, std::span<const float> mean, float rate, std::span<float> out);

namespace scalar {
void combine(float a, std::span<const float> x, float b, std::span<const float> y,
             std::span<float> out);
void follow(std::span<float> shift, std::span<const float> mean, float rate, std::span<float> out);
}  // namespace scalar

}  // namespace gradwire::kernel
