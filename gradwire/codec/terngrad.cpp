// TernGrad (Wen et al.): minus, zero or plus one scale for the whole tensor, after clipping at some
// standard deviations.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "gradwire/codec/stage.h"
#include "gradwire/kernel/levels.h"
#include "gradwire/kernel/sums.h"

namespace gradwire {
namespace {

class TernGrad final : public Quantiser {
 public:
  explicit TernGrad(std::optional<double> clip) : clip_(clip) {}

  std::string spec() const override {
    return "terngrad(clip=" + (clip_ ? format_number(*clip_) : std::string("off")) + ")";
  }
  Guarantee guarantee(std::size_t elements) const override {
    if (clip_) {
      return Guarantee::none(
          "clipping makes the mean that of the clipped values; clip=off has "
          "no bias");
    }
    const auto d = static_cast<double>(std::max<std::size_t>(1, elements));
    return Guarantee::unbiased((std::sqrt(d) - 1) / 2);
  }
  std::span<const Plane> planes() const override { return kPlanes; }
  std::size_t scale_count(std::size_t, std::size_t count) const override {
    return count == 0 ? 0 : 1;
  }

  bool needs_all_values() const override { return true; }
  void measure(std::span<const float> values, Scale::Facts& facts) const override {
    const kernel::Moments moments = kernel::moments(values);
    if (!kernel::is_finite_magnitude(moments.largest)) {
      facts.finite = false;
      facts.value = std::numeric_limits<float>::quiet_NaN();
      return;
    }
    facts.value = std::bit_cast<float>(moments.largest);
    if (!clip_ || values.empty()) return;
    const auto n = static_cast<double>(values.size());
    const double mean = moments.sum / n;
    const double variance = moments.squares / n - mean * mean;
    // Below this it is the rounding error of the sums: all values are the same, and none is
    // clipped.
    if (variance <= 1e-12 * moments.squares / n) return;
    facts.value = static_cast<float>(std::min<double>(facts.value, *clip_ * std::sqrt(variance)));
  }

  bool encode(const EncodeBlock& block, BlockSymbols& out) const override {
    block.scales[0] = block.facts.value;
    kernel::levels_encode(block.values(), whole(block.scales), kSetting, block.random,
                          kernel::SymbolBlock(out.symbols), block.ahead);
    return block.facts.finite;
  }
  void decode(const BlockSymbols& in, const DecodeBlock& block) const override {
    kernel::levels_decode(kernel::ConstSymbolBlock(in.symbols), whole(block.scales), kSetting.bits,
                          block.target, block.ahead);
  }
  void decode_add(const BlockSymbols& in, float weight, const DecodeBlock& block) const override {
    kernel::levels_decode_add(kernel::ConstSymbolBlock(in.symbols), whole(block.scales),
                              kSetting.bits, weight, block.target, block.ahead);
  }

 private:
  static kernel::Buckets whole(std::span<const float> scales) {
    return {std::numeric_limits<std::size_t>::max(), 0, scales};
  }

  static constexpr kernel::LevelsSetting kSetting{.bits = 2, .clip = true};
  static constexpr Plane kPlanes[] = {{Plane::Kind::trits}};
  std::optional<double> clip_;  // in standard deviations
};

QuantiserPtr make_terngrad(StageReader& stage) {
  const auto clip = stage.number_or_off("clip", 2.5, 0.01, 1e6);
  stage.finish();
  return std::make_unique<TernGrad>(clip);
}

}  // namespace

CodecStage terngrad_stage() {
  return {
      .name = "terngrad", .make = make_terngrad, .examples = {"terngrad", "terngrad(clip=off)"}};
}

}  // namespace gradwire
