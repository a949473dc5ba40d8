// Buckets: consecutive elements that share a scale, and how a block lies on them.
#pragma once

#include <algorithm>
#include <cmath>
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

// No value of such a bucket survives: its symbols say zero, and its scale says the rest.
inline bool is_blank(float scale) { return scale == 0 || std::isnan(scale); }

// The runs of a block's elements that lie in one bucket, in order.
class BucketRun {
 public:
  BucketRun(std::size_t elements, const Buckets& buckets)
      : elements_(elements),
        buckets_(buckets),
        count_(std::min(buckets.elements - buckets.phase, elements)) {}

  bool done() const { return first_ == elements_; }
  std::size_t first() const { return first_; }
  std::size_t count() const { return count_; }
  float scale() const { return buckets_.scales[bucket_]; }

  void next() {
    first_ += count_;
    count_ = std::min(buckets_.elements, elements_ - first_);
    ++bucket_;
  }

 private:
  std::size_t elements_;
  const Buckets& buckets_;
  std::size_t first_ = 0;
  std::size_t count_;
  std::size_t bucket_ = 0;
};

}  // namespace gradwire::kernel
