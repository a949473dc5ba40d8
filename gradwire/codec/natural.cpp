// Natural compression (Horvath et al.): sign and exponent, rounded without bias. natural sends 9
// bits a value; natural(bits=8) counts exponents from the bucket's largest and sends 8.
#include "gradwire/kernel/natural.h"

#include "gradwire/codec/stage.h"
#include "gradwire/kernel/dither.h"

namespace gradwire {
namespace {

// The second moment's ratio (1 + 3m)/(1 + m)^2 for a mantissa of 1 + m is at most 9/8, at m = 1/3.
constexpr double kOmega = 1.0 / 8;

class Natural final : public Quantiser {
 public:
  std::string spec() const override { return "natural"; }
  Guarantee guarantee(std::size_t) const override { return Guarantee::unbiased(kOmega); }
  std::span<const Plane> planes() const override { return kPlanes; }

  bool encode(const EncodeBlock& block, BlockSymbols& out) const override {
    return kernel::natural_encode(block.values(), block.random, kernel::SymbolBlock(out.symbols),
                                  kernel::BitBlock(out.bits), block.ahead);
  }
  void decode(const BlockSymbols& in, const DecodeBlock& block) const override {
    kernel::natural_decode(kernel::ConstSymbolBlock(in.symbols), kernel::ConstBitBlock(in.bits),
                           block.target, block.ahead);
  }
  void decode_add(const BlockSymbols& in, float weight, const DecodeBlock& block) const override {
    kernel::natural_decode_add(kernel::ConstSymbolBlock(in.symbols), kernel::ConstBitBlock(in.bits),
                               weight, block.target, block.ahead);
  }

 private:
  static constexpr Plane kPlanes[] = {{Plane::Kind::exponents}, {Plane::Kind::bits}};
};

class NaturalInBytes final : public BucketQuantiser {
 public:
  explicit NaturalInBytes(std::size_t bucket_elements)
      : BucketQuantiser(bucket_elements, kernel::Norm::power_of_two) {}

  std::string spec() const override {
    return "natural(bits=8, bucket=" + std::to_string(bucket_elements()) + ")";
  }
  // For what is less than 2^126 times smaller than the bucket's largest.
  Guarantee guarantee(std::size_t) const override { return Guarantee::unbiased(kOmega); }
  std::span<const Plane> planes() const override { return kPlanes; }

  bool encode(const EncodeBlock& block, BlockSymbols& out) const override {
    const Measured measured = measure_block(block);
    kernel::natural_bytes_encode(block.values(), measured.buckets, block.random,
                                 kernel::SymbolBlock(out.symbols), kernel::BitBlock(out.bits),
                                 block.ahead);
    return measured.finite;
  }
  void decode(const BlockSymbols& in, const DecodeBlock& block) const override {
    kernel::dither_decode(kernel::ConstSymbolBlock(in.symbols), buckets(block), kDither,
                          block.target, block.ahead);
  }
  void decode_add(const BlockSymbols& in, float weight, const DecodeBlock& block) const override {
    kernel::dither_decode_add(kernel::ConstSymbolBlock(in.symbols), buckets(block), kDither, weight,
                              block.target, block.ahead);
  }

 private:
  static constexpr kernel::Dither kDither{.levels = 127, .sign_bit = 7};
  static constexpr Plane kPlanes[] = {{Plane::Kind::symbols, 8}};
};

QuantiserPtr make_natural(StageReader& stage) {
  const auto bits = stage.integer("bits", 9, 8, 9);
  if (bits == 9) {
    stage.finish();
    return std::make_unique<Natural>();
  }
  const std::size_t bucket = read_bucket(stage);
  stage.finish();
  return std::make_unique<NaturalInBytes>(bucket);
}

}  // namespace

CodecStage natural_stage() {
  return {.name = "natural", .make = make_natural, .examples = {"natural", "natural(bits=8)"}};
}

}  // namespace gradwire
