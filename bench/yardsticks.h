// Yardsticks: copies and reads an array, at the speed of memory, to compare codecs with. Works on
// the pool's threads; owns no arrays. Its calls do not allocate.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gradwire/codec/segments.h"
#include "gradwire/core/thread_pool.h"

namespace gradwire::bench {

class Yardsticks {
 public:
  // The target has as many elements as the source. All must outlive the yardsticks.
  Yardsticks(std::span<const float> source, std::span<float> target, ThreadPool& pool);

  // memcpy from source to target.
  void copy();

  // Reads all of the source, and gives the sum of its bits.
  std::uint32_t read();

 private:
  std::span<const float> source_;
  std::span<float> target_;
  ThreadPool& pool_;
  std::vector<SegmentRange> segments_;
  std::vector<std::uint32_t> sums_;  // of the segments
};

}  // namespace gradwire::bench
