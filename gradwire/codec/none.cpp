// none: the values as they are.
#include <algorithm>
#include <cstring>

#include "gradwire/codec/stage.h"
#include "gradwire/kernel/floats.h"

namespace gradwire {
namespace {

class None final : public Quantiser {
 public:
  std::string spec() const override { return "none"; }
  Guarantee guarantee(std::size_t) const override { return Guarantee::unbiased(0); }
  std::span<const Plane> planes() const override { return kPlanes; }

  bool encode(const EncodeBlock& block, BlockSymbols& out) const override {
    return kernel::copy_floats(block.values(), out.floats, block.ahead);
  }
  void decode(const BlockSymbols& in, const DecodeBlock& block) const override {
    std::copy_n(in.floats, block.target.size(), block.target.data());
  }
  void decode_add(const BlockSymbols& in, float weight, const DecodeBlock& block) const override {
    kernel::add_weighted({in.floats, block.target.size()}, weight, block.target, block.ahead);
  }

 private:
  static constexpr Plane kPlanes[] = {{Plane::Kind::floats}};
};

QuantiserPtr make_none(StageReader& stage) {
  stage.finish();
  return std::make_unique<None>();
}

}  // namespace

CodecStage none_stage() { return {.name = "none", .make = make_none, .examples = {"none"}}; }

}  // namespace gradwire
