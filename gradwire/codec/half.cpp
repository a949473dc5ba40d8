// fp16 and bf16, rounded without bias.
#include "gradwire/kernel/half.h"

#include "gradwire/codec/stage.h"

namespace gradwire {
namespace {

enum class Format { fp16, bf16 };

class Half final : public Quantiser {
 public:
  explicit Half(Format format) : format_(format) {}

  std::string spec() const override { return format_ == Format::fp16 ? "fp16" : "bf16"; }

  // In the normal range of the format: u^2/(4(1 + u)) with u = 2^-mantissa bits.
  Guarantee guarantee(std::size_t) const override {
    const double u = format_ == Format::fp16 ? 0x1p-10 : 0x1p-7;
    return Guarantee::unbiased(u * u / (4 * (1 + u)));
  }
  std::span<const Plane> planes() const override { return kPlanes; }

  bool encode(const EncodeBlock& block, BlockSymbols& out) const override {
    const kernel::WideSymbolBlock symbols(out.wide);
    return format_ == Format::fp16
               ? kernel::fp16_encode(block.values(), block.random, symbols, block.ahead)
               : kernel::bf16_encode(block.values(), block.random, symbols, block.ahead);
  }
  void decode(const BlockSymbols& in, const DecodeBlock& block) const override {
    const kernel::ConstWideSymbolBlock symbols(in.wide);
    if (format_ == Format::fp16) {
      kernel::fp16_decode(symbols, block.target, block.ahead);
    } else {
      kernel::bf16_decode(symbols, block.target, block.ahead);
    }
  }
  void decode_add(const BlockSymbols& in, float weight, const DecodeBlock& block) const override {
    const kernel::ConstWideSymbolBlock symbols(in.wide);
    if (format_ == Format::fp16) {
      kernel::fp16_decode_add(symbols, weight, block.target, block.ahead);
    } else {
      kernel::bf16_decode_add(symbols, weight, block.target, block.ahead);
    }
  }

 private:
  static constexpr Plane kPlanes[] = {{Plane::Kind::wide}};
  Format format_;
};

QuantiserPtr make_fp16(StageReader& stage) {
  stage.finish();
  return std::make_unique<Half>(Format::fp16);
}

QuantiserPtr make_bf16(StageReader& stage) {
  stage.finish();
  return std::make_unique<Half>(Format::bf16);
}

}  // namespace

CodecStage fp16_stage() { return {.name = "fp16", .make = make_fp16, .examples = {"fp16"}}; }

CodecStage bf16_stage() { return {.name = "bf16", .make = make_bf16, .examples = {"bf16"}}; }

}  // namespace gradwire
