#include "gradwire/codec/quantiser.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

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
  measure(slice.values.subspan(values_from, values_to - values_from), scales);
  measured.finite =
      std::none_of(scales.begin(), scales.end(), [](float scale) { return std::isnan(scale); });
  return measured;
}

void BucketQuantiser::measure(std::span<const float> values, std::span<float> scales) const {
  if (p_ == kLargest || p_ == 2) {
    return kernel::bucket_scales(values, bucket_elements_, norm_, scales);
  }
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const auto rest = values.subspan(i * bucket_elements_);
    scales[i] = lp_norm(rest.first(std::min(bucket_elements_, rest.size())), p_);
  }
}

std::string BucketQuantiser::norm_text() const {
  return p_ == kLargest ? "linf" : 'l' + std::to_string(p_);
}

double BucketQuantiser::root_of(double elements) const {
  return p_ == 1 ? elements : std::sqrt(elements);
}

float lp_norm(std::span<const float> values, unsigned p) {
  const std::uint32_t largest_bits = kernel::largest_magnitude(values);
  if (!kernel::is_finite_magnitude(largest_bits)) return std::numeric_limits<float>::quiet_NaN();
  const auto largest = std::bit_cast<float>(largest_bits);
  if (largest == 0) return 0;
  const auto power = [p](double base) {
    double product = base;
    for (unsigned i = 1; i < p; ++i) product *= base;
    return product;
  };
  double sum = 0;  // of (|x| / largest)^p: from 1 to the number of values
  for (const float value : values) sum += power(std::fabs(double{value}) / double{largest});
  // From above Newton's steps fall, until rounding stops them.
  double root = sum;
  while (true) {
    const double next = root - (power(root) - sum) / (p * (power(root) / root));
    if (!(next < root)) break;
    root = next;
  }
  const double norm = root * double{largest};
  constexpr float kMost = std::numeric_limits<float>::max();
  return norm >= double{kMost} ? kMost : std::max(largest, static_cast<float>(norm));
}

unsigned read_norm(StageReader& stage) {
  constexpr unsigned kPowerMax = 16;
  std::vector<std::string> words = {"linf"};
  for (unsigned p = 1; p <= kPowerMax; ++p) words.push_back('l' + std::to_string(p));
  const std::string word = stage.word("norm", words);
  for (unsigned p = 1; p <= kPowerMax; ++p) {
    if (word == words[p]) return p;
  }
  return kLargest;
}

kernel::Buckets BucketQuantiser::buckets(const DecodeBlock& block) const {
  return {bucket_elements_, block.first % bucket_elements_,
          block.scales.subspan(block.first / bucket_elements_)};
}

}  // namespace gradwire
