// Natural compression (Horvath et al.): sign and exponent, rounded without bias. natural sends 9
// bits a value; natural(bits=8) counts exponents from the bucket's largest and sends 8.
#include "gradwire/kernel/natural.h"

#include <algorithm>
#include <bit>

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

// The powers of another base, 2^step: the same planes, with fewer exponents in use, which the
// entropy stage makes shorter. The second moment's ratio for base^k (1 + ...) is at most 1 +
// (b-1)^2/(4b), at 2b/(b+1) times the power below.
class NaturalOfBase final : public Quantiser {
 public:
  explicit NaturalOfBase(unsigned step) : step_(step) {}

  std::string spec() const override { return "natural(base=" + std::to_string(1u << step_) + ")"; }
  Guarantee guarantee(std::size_t) const override {
    const double b = 1u << step_;
    return Guarantee::unbiased((b - 1) * (b - 1) / (4 * b));
  }
  std::span<const Plane> planes() const override { return kPlanes; }

  bool encode(const EncodeBlock& block, BlockSymbols& out) const override {
    const std::span<const float> values = block.values();
    const auto exponents = kernel::SymbolBlock(out.symbols);
    const auto signs = kernel::BitBlock(out.bits);
    std::fill_n(signs.data(), (values.size() + 7) / 8, std::uint8_t{0});
    bool is_finite = true;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto bits = std::bit_cast<std::uint32_t>(values[i]);
      exponents[i] = round(bits, block.random.at(static_cast<std::uint32_t>(i)));
      signs[i / 8] = static_cast<std::uint8_t>(signs[i / 8] | (bits >> 31) << (i % 8));
      is_finite = is_finite && exponents[i] != kNotFinite;
    }
    return is_finite;
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
  static constexpr std::uint32_t kNotFinite = 255;
  static constexpr std::uint32_t kOne = 127;  // the exponent of 1, a power of every base

  // The exponent of one of the two powers around a value. As natural: what is below the least power
  // becomes zero, and what is above the largest is rounded down.
  std::uint8_t round(std::uint32_t bits, std::uint32_t random) const {
    const std::uint32_t exponent = bits >> 23 & 0xff;
    if (exponent == kNotFinite) return kNotFinite;
    const std::uint32_t least = kOne % step_ == 0 ? step_ : kOne % step_;
    if (exponent < least) return 0;
    const std::uint32_t above = (exponent - least) % step_;
    const std::uint32_t low = exponent - above;
    if (low + step_ >= kNotFinite) return static_cast<std::uint8_t>(low);
    // Up with the probability (value - low) / (high - low).
    const std::uint64_t distance =
        (std::uint64_t{0x800000u | (bits & 0x7fffffu)} << above) - 0x800000u;
    const std::uint64_t gap = std::uint64_t{0x800000u} * ((1u << step_) - 1);
    const bool is_up = random * gap < distance << 32;
    return static_cast<std::uint8_t>(is_up ? low + step_ : low);
  }

  unsigned step_;
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
  const auto base = static_cast<std::uint32_t>(stage.integer("base", 2, 2, 16));
  if (!std::has_single_bit(base)) stage.fail_argument("base", "'base' must be 2, 4, 8 or 16");
  if (bits == 9) {
    stage.finish();
    if (base == 2) return std::make_unique<Natural>();
    return std::make_unique<NaturalOfBase>(static_cast<unsigned>(std::countr_zero(base)));
  }
  if (base != 2) stage.fail_argument("base", "other bases than 2 need bits=9");
  const std::size_t bucket = read_bucket(stage);
  stage.finish();
  return std::make_unique<NaturalInBytes>(bucket);
}

}  // namespace

CodecStage natural_stage() {
  return {.name = "natural",
          .make = make_natural,
          .examples = {"natural", "natural(bits=8)", "natural(base=4)"}};
}

}  // namespace gradwire
