#include "gradwire/codec/quantiser.h"

#include <algorithm>
#include <cmath>

namespace gradwire {

std::size_t BucketQuantiser::scale_count(std::size_t phase, std::size_t count) const {
  return count == 0 ? 0 : (phase + count - 1) / bucket_elements_ + 1;
}

BucketQuantiser::Measured BucketQuantiser::measure_block(const EncodeBlock& block) const {
  const Slice& slice = block.slice;
  const std::size_t begin = slice.begin + block.offset;
  const std::size_t first_bucket = slice.begin / bucket_elements_;
  const std::size_t own_bucket = begin / bucket_elements_;
  // A bucket that reaches in from an earlier block has its scale already.
  const bool reaches_in = block.offset > 0 && begin % bucket_elements_ != 0;
  const std::size_t new_from = own_bucket + (reaches_in ? 1 : 0);
  const std::size_t new_to = (begin + block.count - 1) / bucket_elements_ + 1;

  Measured measured{.buckets = {bucket_elements_, begin % bucket_elements_,
                                block.scales.subspan(own_bucket - first_bucket)}};
  if (new_from == new_to) return measured;
  const std::size_t values_from = new_from * bucket_elements_;
  const std::size_t values_to = std::min(new_to * bucket_elements_, slice.values.size());
  const auto scales = block.scales.subspan(new_from - first_bucket, new_to - new_from);
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
