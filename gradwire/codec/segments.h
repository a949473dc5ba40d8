// Cuts a tensor into segments, so that encoding, sending and decoding overlap and threads share the
// work. A pure function: every rank and every reader cuts the same way.
#pragma once

#include <cstddef>
#include <vector>

namespace gradwire {

struct SegmentRange {
  std::size_t first = 0;
  std::size_t elements = 0;

  bool operator==(const SegmentRange&) const = default;
};

struct Cut {
  std::size_t elements = 0;              // of the tensor
  std::size_t bucket_elements = 1;       // segments start at multiples of this
  std::size_t segment_elements_max = 1;  // but a segment has at least one bucket
};

// Covers the tensor in order, without gaps. All segments have the same length except the last,
// which may be shorter. A tensor without elements has no segments.
std::vector<SegmentRange> cut_segments(const Cut& cut);

}  // namespace gradwire
