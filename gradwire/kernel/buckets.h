// Buckets: consecutive elements that share a scale, and how a block lies on them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace gradwire::kernel {

// A block's first element is element `phase` of its bucket, and scales[0] is that bucket's. A scale
// of 0 gives zeros; a scale that is NaN marks a bucket with a non-finite value, and decodes to NaN.
struct Buckets {
  std::size_t elements = 0;  // of a bucket
  std::size_t phase = 0;
  std::span<const float> scales;
};

// Calls body(first, count, scale) for every run of a block's n elements that lies in one bucket.
template <class Body>
void for_bucket_runs(std::size_t n, const Buckets& buckets, const Body& body) {
  std::size_t left_in_bucket = buckets.elements - buckets.phase;
  for (std::size_t first = 0, bucket = 0; first < n; ++bucket) {
    const std::size_t count = std::min(left_in_bucket, n - first);
    body(first, count, buckets.scales[bucket]);
    first += count;
    left_in_bucket = buckets.elements;
  }
}

}  // namespace gradwire::kernel
