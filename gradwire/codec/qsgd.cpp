// QSGD's random dithering (Alistarh et al.): evenly spaced levels between minus and plus the
// bucket's norm.
#include <algorithm>
#include <cmath>

#include "gradwire/codec/stage.h"
#include "gradwire/kernel/levels.h"

namespace gradwire {
namespace {

class Qsgd final : public BucketQuantiser {
 public:
  Qsgd(unsigned bits, unsigned p, std::size_t bucket_elements, kernel::Rounding rounding)
      : BucketQuantiser(bucket_elements, p),
        setting_{.bits = bits, .rounding = rounding},
        plane_{Plane::Kind::symbols, bits} {}

  std::string spec() const override {
    return "qsgd(bits=" + std::to_string(setting_.bits) + ", norm=" + norm_text() +
           ", bucket=" + std::to_string(bucket_elements()) +
           (setting_.rounding == kernel::Rounding::nearest ? ", rounding=nearest)" : ")");
  }

  Guarantee guarantee(std::size_t elements) const override {
    const double u = kernel::levels_of(setting_.bits);
    const auto b =
        static_cast<double>(std::max<std::size_t>(1, std::min(bucket_elements(), elements)));
    const bool l2 = p() == 2;
    if (setting_.rounding == kernel::Rounding::nearest) {
      return Guarantee::contractive(l2 ? 1 - b / (4 * u * u) : 4 * u * u / (4 * u * u + b - 1));
    }
    // Sharp for linf and l2.
    if (p() == kLargest) return Guarantee::unbiased((std::sqrt(1 + (b - 1) / (u * u)) - 1) / 2);
    if (!l2) return general_guarantee(b, u);
    if (u <= std::sqrt(b) / 2) return Guarantee::unbiased(std::sqrt(b) / u - 1);
    return Guarantee::unbiased(b / (4 * u * u));
  }
  std::span<const Plane> planes() const override { return {&plane_, 1}; }

  bool encode(const EncodeBlock& block, BlockSymbols& out) const override {
    const Measured measured = measure_block(block);
    kernel::levels_encode(block.values(), measured.buckets, setting_, block.random,
                          kernel::SymbolBlock(out.symbols), block.ahead);
    return measured.finite;
  }
  void decode(const BlockSymbols& in, const DecodeBlock& block) const override {
    kernel::levels_decode(kernel::ConstSymbolBlock(in.symbols), buckets(block), setting_.bits,
                          block.target, block.ahead);
  }
  void decode_add(const BlockSymbols& in, float weight, const DecodeBlock& block) const override {
    kernel::levels_decode_add(kernel::ConstSymbolBlock(in.symbols), buckets(block), setting_.bits,
                              weight, block.target, block.ahead);
  }

 private:
  // With y_j = |x_j|/|x|_p, element j has a variance of at most |x|_p^2 min{y_j/u, 1/(4u^2)}, so
  // that all have at most min{|x|_1 |x|_p / u, b |x|_p^2 / (4u^2)}; and |x|_1 <= b^(1/2) |x|_2,
  // |x|_p <= b^(1/r - 1/2) |x|_2 with r = min{p, 2}.
  Guarantee general_guarantee(double b, double u) const {
    const double root = root_of(b);
    return Guarantee::unbiased(std::min(root / u, root * root / (4 * u * u)));
  }

  kernel::LevelsSetting setting_;
  Plane plane_;
};

QuantiserPtr make_qsgd(StageReader& stage) {
  const auto bits = static_cast<unsigned>(stage.integer("bits", 4, 2, 8));
  const unsigned p = read_norm(stage);
  const std::size_t bucket = read_bucket(stage);
  const bool nearest = stage.word("rounding", {"stochastic", "nearest"}) == "nearest";
  stage.finish();
  const std::size_t u = kernel::levels_of(bits);
  if (nearest && p != kLargest && p != 2) {
    stage.fail_argument("rounding", "nearest rounding is for the norms linf and l2");
  }
  if (nearest && p == 2 && bucket >= 4 * u * u) {
    stage.fail_argument("rounding",
                        "nearest rounding with the l2 norm needs bucket < 4u^2 (u = " +
                            std::to_string(u) + " levels, so below " + std::to_string(4 * u * u) +
                            "): beyond that whole buckets decode to zero; use norm=linf, more "
                            "bits or a smaller bucket");
  }
  return std::make_unique<Qsgd>(bits, p, bucket,
                                nearest ? kernel::Rounding::nearest : kernel::Rounding::stochastic);
}

}  // namespace

CodecStage qsgd_stage() {
  return {.name = "qsgd",
          .make = make_qsgd,
          .examples = {"qsgd(bits=8)", "qsgd(bits=4)", "qsgd(bits=2)", "qsgd(bits=4, norm=l2)",
                       "qsgd(bits=4, rounding=nearest)"}};
}

}  // namespace gradwire
