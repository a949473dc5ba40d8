// Natural dithering (Horvath et al.): levels that halve from one to the next.
#include <algorithm>
#include <bit>
#include <cmath>

#include "gradwire/codec/stage.h"
#include "gradwire/kernel/dither.h"

namespace gradwire {
namespace {

class NaturalDither final : public BucketQuantiser {
 public:
  NaturalDither(std::uint32_t levels, unsigned p, std::size_t bucket_elements)
      : BucketQuantiser(bucket_elements, p),
        dither_{.levels = levels, .sign_bit = static_cast<std::uint32_t>(std::bit_width(levels))},
        plane_{Plane::Kind::symbols, dither_.sign_bit + 1} {}

  std::string spec() const override {
    return "natural_dither(levels=" + std::to_string(dither_.levels) + ", norm=" + norm_text() +
           ", bucket=" + std::to_string(bucket_elements()) + ")";
  }

  // 1/8 + b^(1/r) 2^(1-s) min{1, b^(1/r) 2^(1-s)}, r = min{p, 2}.
  Guarantee guarantee(std::size_t elements) const override {
    const auto b = static_cast<double>(std::min(bucket_elements(), elements));
    const double small = root_of(b) * std::ldexp(1.0, 1 - static_cast<int>(dither_.levels));
    return Guarantee::unbiased(1.0 / 8 + small * std::min(1.0, small));
  }
  std::span<const Plane> planes() const override { return {&plane_, 1}; }

  bool encode(const EncodeBlock& block, BlockSymbols& out) const override {
    const Measured measured = measure_block(block);
    kernel::dither_encode(block.values(), measured.buckets, dither_, block.random,
                          kernel::SymbolBlock(out.symbols), block.ahead);
    return measured.finite;
  }
  void decode(const BlockSymbols& in, const DecodeBlock& block) const override {
    kernel::dither_decode(kernel::ConstSymbolBlock(in.symbols), buckets(block), dither_,
                          block.target, block.ahead);
  }
  void decode_add(const BlockSymbols& in, float weight, const DecodeBlock& block) const override {
    kernel::dither_decode_add(kernel::ConstSymbolBlock(in.symbols), buckets(block), dither_, weight,
                              block.target, block.ahead);
  }

 private:
  kernel::Dither dither_;
  Plane plane_;
};

QuantiserPtr make_natural_dither(StageReader& stage) {
  const auto levels = stage.integer("levels", 7, 1, kernel::kDitherLevelsMax);
  const unsigned p = read_norm(stage);
  const std::size_t bucket = read_bucket(stage);
  stage.finish();
  return std::make_unique<NaturalDither>(static_cast<std::uint32_t>(levels), p, bucket);
}

}  // namespace

CodecStage natural_dither_stage() {
  return {.name = "natural_dither",
          .make = make_natural_dither,
          .examples = {"natural_dither(levels=7)"}};
}

}  // namespace gradwire
