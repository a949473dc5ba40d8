#include "bench/thread_cut.h"

namespace gradwire::bench {
namespace {

constexpr std::size_t divide_up(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

}  // namespace

std::vector<SegmentRange> cut_for_threads(std::size_t elements, std::size_t bucket_elements,
                                          std::size_t threads) {
  const std::size_t buckets = divide_up(elements, bucket_elements);
  return cut_segments({.elements = elements,
                       .bucket_elements = bucket_elements,
                       .segment_elements_max = divide_up(buckets, threads) * bucket_elements});
}

}  // namespace gradwire::bench
