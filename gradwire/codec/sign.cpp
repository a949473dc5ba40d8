// sign: the sign of every value times the mean magnitude of the tensor; with scale=off the bare
// sign, as majority votes use it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "gradwire/codec/stage.h"
#include "gradwire/kernel/signs.h"
#include "gradwire/kernel/sums.h"

namespace gradwire {
namespace {

class Sign final : public Quantiser {
 public:
  explicit Sign(bool scaled) : scaled_(scaled) {}

  std::string spec() const override { return scaled_ ? "sign" : "sign(scale=off)"; }
  Guarantee guarantee(std::size_t elements) const override {
    if (!scaled_) return Guarantee::none("the size of the values is lost");
    return Guarantee::contractive(1 / static_cast<double>(std::max<std::size_t>(1, elements)));
  }
  std::span<const Plane> planes() const override { return kPlanes; }
  std::size_t scale_count(std::size_t, std::size_t count) const override {
    return count == 0 ? 0 : 1;
  }

  // The mean needs a look at the whole tensor, and the signs are at hand then.
  bool needs_all_values() const override { return true; }
  void measure(std::span<const float> values, Scale::Facts& facts) const override {
    double sum = 0;
    std::uint32_t largest = 0;
    facts.signs.resize(values.size() / 8 + kernel::kBitRoom);
    kernel::for_blocks(
        values, [&](std::size_t first, std::span<const float> block, const kernel::Ahead& ahead) {
          const kernel::MagnitudeSum magnitudes = kernel::sum_magnitudes(block, ahead);
          sum += magnitudes.sum;
          largest = std::max(largest, magnitudes.largest);
          kernel::signs_encode(
              block, kernel::BitBlock(facts.signs.data() + first / 8, kernel::kBitRoom), {});
        });
    facts.finite = kernel::is_finite_magnitude(largest);
    if (!facts.finite) {
      facts.value = std::numeric_limits<float>::quiet_NaN();
    } else if (!scaled_) {
      facts.value = 1;
    } else if (!values.empty()) {
      facts.value = static_cast<float>(sum / static_cast<double>(values.size()));
    }
  }

  bool encode(const EncodeBlock& block, BlockSymbols& out) const override {
    block.scales[0] = block.facts.value;
    const std::size_t position = block.slice.position + block.slice.begin + block.offset;
    if (position % 8 == 0) {
      std::copy_n(block.facts.signs.data() + position / 8, (block.count + 7) / 8, out.bits);
    } else {
      kernel::signs_encode(block.values(), kernel::BitBlock(out.bits), block.ahead);
    }
    return block.facts.finite;
  }
  void decode(const BlockSymbols& in, const DecodeBlock& block) const override {
    kernel::signs_decode(kernel::ConstBitBlock(in.bits), block.scales[0], block.target,
                         block.ahead);
  }
  void decode_add(const BlockSymbols& in, float weight, const DecodeBlock& block) const override {
    kernel::signs_decode_add(kernel::ConstBitBlock(in.bits), block.scales[0], weight, block.target,
                             block.ahead);
  }

 private:
  static constexpr Plane kPlanes[] = {{Plane::Kind::bits}};
  bool scaled_;
};

QuantiserPtr make_sign(StageReader& stage) {
  const bool scaled = stage.word("scale", {"on", "off"}) == "on";
  stage.finish();
  return std::make_unique<Sign>(scaled);
}

}  // namespace

CodecStage sign_stage() {
  return {.name = "sign", .make = make_sign, .examples = {"sign", "sign(scale=off)"}};
}

}  // namespace gradwire
