// Cuts a tensor into one segment per thread. A pure function.
#pragma once

#include <cstddef>
#include <vector>

#include "gradwire/codec/segments.h"

namespace gradwire::bench {

// One segment per thread, all of the same length but for the last. Segments start at multiples of
// the bucket.
std::vector<SegmentRange> cut_for_threads(std::size_t elements, std::size_t bucket_elements,
                                          std::size_t threads);

}  // namespace gradwire::bench
