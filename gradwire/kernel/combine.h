// What methods do to whole vectors: sums of two, and a shift that follows a mean. Every element is
// rounded in the same places whatever the width of the vectors. While they work on one block they
// ask for the next one, beyond the end, too: what is called piece by piece goes on there.
#pragma once

#include <span>

namespace gradwire::kernel {

// Where results go: to the caches, or past them, for what is too large to stay there anyway and has
// not been read just now. Call finish_streamed() (copy.h) before another thread reads the latter.
enum class Store { cached, streamed };

// out = a x + b y. All have the same length; out may be x or y, if it is not streamed.
void combine(float a, std::span<const float> x, float b, std::span<const float> y,
             std::span<float> out, Store store = Store::cached);

// out = shift + mean, then shift += rate * mean. `store` is for out.
void follow(std::span<float> shift, std::span<const float> mean, float rate, std::span<float> out,
            Store store = Store::cached);

namespace scalar {
void combine(float a, std::span<const float> x, float b, std::span<const float> y,
             std::span<float> out, Store store = Store::cached);
void follow(std::span<float> shift, std::span<const float> mean, float rate, std::span<float> out,
            Store store = Store::cached);
}  // namespace scalar

}  // namespace gradwire::kernel
