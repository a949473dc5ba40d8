// Copies past the caches, for results that are larger than the caches anyway: saves reading the
// destination first. For short results, which the next reader should find in cache: memcpy.
#pragma once

#include <cstddef>
#include <span>

namespace gradwire::kernel {

void copy_streamed(std::span<const std::byte> source, std::byte* target);

// Call once behind a series of copy_streamed, before another thread reads the result.
void finish_streamed();

}  // namespace gradwire::kernel
