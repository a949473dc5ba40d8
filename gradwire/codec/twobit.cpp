// twobit: the sign of every value, and one of two magnitudes: the means of the bucket's magnitudes
// below and above their mean, as SparseLoCo sends its values. A value takes the nearer one.
#include <algorithm>
#include <cmath>

#include "gradwire/codec/stage.h"
#include "gradwire/kernel/two_levels.h"

namespace gradwire {
namespace {

class TwoBit final : public Quantiser {
 public:
  explicit TwoBit(std::size_t bucket_elements) : bucket_elements_(bucket_elements) {}

  std::string spec() const override {
    return "twobit(bucket=" + std::to_string(bucket_elements_) + ")";
  }

  // The error is |x|^2 less what the two means have of it, S_l^2 / n_l + S_h^2 / n_h. Given the
  // mean magnitude A, that share is smallest when one value is large, a third of the bucket lies
  // just above A and the rest is zero: 27 / (4 b) for large buckets b. docs/codecs.md has the
  // steps.
  Guarantee guarantee(std::size_t elements) const override {
    const auto b =
        static_cast<double>(std::max<std::size_t>(1, std::min(bucket_elements_, elements)));
    return Guarantee::contractive(std::min(1.0, 27 / (4 * b + 20)));
  }
  std::span<const Plane> planes() const override { return kPlanes; }
  std::size_t bucket_elements() const override { return bucket_elements_; }
  std::size_t scale_count(std::size_t phase, std::size_t count) const override {
    return count == 0 ? 0 : 2 * ((phase + count - 1) / bucket_elements_ + 1);
  }

  bool encode(const EncodeBlock& block, BlockSymbols& out) const override {
    const BlockBuckets buckets = block_buckets(block, bucket_elements_);
    const std::span<const float> all = block.slice.values;
    bool finite = true;
    for (std::size_t i = buckets.new_from; i < buckets.to; ++i) {
      const std::size_t first = i * bucket_elements_;
      const auto values = all.subspan(first, std::min(bucket_elements_, all.size() - first));
      const kernel::TwoLevels levels = kernel::two_levels_of(values);
      block.scales[2 * (i - buckets.slice_first)] = levels.lower;
      block.scales[2 * (i - buckets.slice_first) + 1] = levels.upper;
      finite = finite && !std::isnan(levels.lower);
    }
    const std::size_t begin = block.slice.begin + block.offset;
    for_buckets(begin - buckets.slice_first * bucket_elements_, block.count, block.scales,
                [&](std::size_t first, std::size_t count, const kernel::TwoLevels& levels) {
                  kernel::two_levels_encode(block.values().subspan(first, count), levels,
                                            std::span(out.symbols).subspan(first), {});
                });
    return finite;
  }
  void decode(const BlockSymbols& in, const DecodeBlock& block) const override {
    for_buckets(block.first, block.target.size(), block.scales,
                [&](std::size_t first, std::size_t count, const kernel::TwoLevels& levels) {
                  kernel::two_levels_decode(in.symbols + first, levels,
                                            block.target.subspan(first, count), {});
                });
  }
  void decode_add(const BlockSymbols& in, float weight, const DecodeBlock& block) const override {
    for_buckets(block.first, block.target.size(), block.scales,
                [&](std::size_t first, std::size_t count, const kernel::TwoLevels& levels) {
                  kernel::two_levels_decode_add(in.symbols + first, levels, weight,
                                                block.target.subspan(first, count), {});
                });
  }

 private:
  // Calls body(first, count, levels) for the runs of a block that lie in one bucket. The block
  // starts `begin` elements behind the first bucket's start.
  template <class Scales, class Body>
  void for_buckets(std::size_t begin, std::size_t count, const Scales& scales,
                   const Body& body) const {
    for (std::size_t first = 0; first < count;) {
      const std::size_t bucket = (begin + first) / bucket_elements_;
      const std::size_t end = std::min(count, (bucket + 1) * bucket_elements_ - begin);
      body(first, end - first, kernel::TwoLevels{scales[2 * bucket], scales[2 * bucket + 1]});
      first = end;
    }
  }

  static constexpr Plane kPlanes[] = {{Plane::Kind::symbols, 2}};
  std::size_t bucket_elements_;
};

QuantiserPtr make_twobit(StageReader& stage) {
  const std::size_t bucket = read_bucket(stage);
  stage.finish();
  return std::make_unique<TwoBit>(bucket);
}

}  // namespace

CodecStage twobit_stage() {
  return {.name = "twobit", .make = make_twobit, .examples = {"twobit"}};
}

}  // namespace gradwire
