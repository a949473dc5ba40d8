// The leaky ReLU: positive values as they are, and others times a slope, element by element. Pure
// functions.
#pragma once

#include <span>

namespace gradwire::kernel {

void leaky_relu(float slope, std::span<float> values);

// Makes gradients of its results those of its arguments. `results` are what leaky_relu made, for a
// positive slope; both have the same length.
void leaky_relu_backward(float slope, std::span<const float> results, std::span<float> gradients);

namespace scalar {
void leaky_relu(float slope, std::span<float> values);
void leaky_relu_backward(float slope, std::span<const float> results, std::span<float> gradients);
}  // namespace scalar

}  // namespace gradwire::kernel
