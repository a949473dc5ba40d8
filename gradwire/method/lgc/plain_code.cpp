// The values themselves, with as many channels as values in a block.
#include <algorithm>

#include "gradwire/core/check.h"
#include "gradwire/method/lgc/code_network.h"

namespace gradwire {
namespace {

class PlainCode final : public CodeNetwork {
 public:
  std::vector<float> encode(std::span<const float> values) const override {
    std::vector<float> code(values.begin(), values.end());
    code.resize(blocks_of(values.size()) * kCodeBlock);
    return code;
  }
  void decode(std::span<const float> code, std::size_t /*decoder*/,
              std::span<float> values) const override {
    std::ranges::copy(code.first(values.size()), values.begin());
  }
  void learn(const TrainingBatch& /*batch*/) override {}
  std::size_t numbers() const override { return 0; }
  std::vector<float> save() const override { return {}; }
  void load(std::span<const float> /*saved*/) override {}
};

}  // namespace

std::unique_ptr<CodeNetwork> make_plain_code(const CodeNetworkOptions& options) {
  GW_CHECK(options.channels == kCodeBlock && options.decoders == 1);
  return std::make_unique<PlainCode>();
}

}  // namespace gradwire
