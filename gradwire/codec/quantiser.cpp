#include "gradwire/codec/quantiser.h"

#include <algorithm>
#include <cmath>

namespace gradwire {

std::size_t BucketQuantiser::scale_count(std::size_t phase, std::size_t count) const {
  return count == 0 ? 0 : (phase + count - 1) / bucket_elements_ + 1;
}

BlockBuckets block_buckets(const Quantiser::EncodeBlock& block, std::size_t bucket_elements) {
  const std::size_t begin = block.slice.begin + block.offset;
  BlockBuckets buckets{.slice_first = block.slice.begin / bucket_elements,
                       .own = begin / bucket_elements,
                       .to = (begin + block.count - 1) / bucket_elements + 1};
  // A bucket that reaches in from an earlier block has its scales already.
  const bool reaches_in = block.offset > 0 && begin % bucket_elements != 0;
  buckets.new_from = buckets.own + (reaches_in ? 1 : 0);
  return buckets;
}

BucketQuantiser::Measured BucketQuantiser::measure_block(const EncodeBlock& block) const {
  const Slice& slice = block.slice;
  const std::size_t begin = slice.begin + block.offset;
  const BlockBuckets found = block_buckets(block, bucket_elements_);
  Measured measured{.buckets = {bucket_elements_, begin % bucket_elements_,
                                block.scales.subspan(found.own - found.slice_first)}};
  if (found.new_from == found.to) return measured;
  const std::size_t values_from = found.new_from * bucket_elements_;
  const std::size_t values_to = std::min(found.to * bucket_elements_, slice.values.size());
  const auto scales =
      block.scales.subspan(found.new_from - found.slice_first, found.to - found.new_from);
  kernel::bucket_scales(slice.values.subspan(values_from, values_to - values_from),
                        bucket_elements_, norm_, scales);
  measured.finite =
      std::none_of(scales.begin(), scales.end(), [](float scale) { return std::isnan(scale); });
  return measured;
}

kernel::Buckets BucketQuantiser::buckets(const DecodeBlock& block) const {
  return {bucket_elements_, block.first % bucket_elements_,
          block.scales.subspan(block.first / bucket_elements_)};
}

}  // namespace gradwire
