#include "gradwire/codec/segments.h"

#include <algorithm>

#include "gradwire/core/check.h"

namespace gradwire {

std::vector<SegmentRange> cut_segments(const Cut& cut) {
  GW_CHECK(cut.bucket_elements >= 1);
  const std::size_t buckets =
      std::max<std::size_t>(1, cut.segment_elements_max / cut.bucket_elements);
  // A bucket may be longer than any tensor, and the product of two lengths must not overflow.
  const std::size_t segment_elements =
      cut.bucket_elements >= cut.elements ? cut.elements : buckets * cut.bucket_elements;

  std::vector<SegmentRange> segments;
  if (cut.elements == 0) return segments;
  segments.reserve(1 + (cut.elements - 1) / segment_elements);
  for (std::size_t first = 0; first < cut.elements; first += segments.back().elements) {
    segments.push_back({first, std::min(segment_elements, cut.elements - first)});
  }
  return segments;
}

}  // namespace gradwire
