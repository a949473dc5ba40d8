// The values themselves, with as many channels as values in a block.
#include <algorithm>

#include "gradwire/core/check.h"
#include "learned/code_network.h"

namespace gradwire::learned {
namespace {

class PlainCode final : public CodeNetwork {
 public:
  std::vector<float> encode(std::span<const float> values) const override {
    std::vector<float> code(values.begin(), values.end());
    code.resize(blocks_of(values.size()) * kBlock);
    return code;
  }
  void decode(std::span<const float> code, std::size_t /*decoder*/,
              std::span<float> values) const override {
    std::ranges::copy(code.first(values.size()), values.begin());
  }
  void learn(const Task& /*task*/) override {}
  std::size_t numbers() const override { return 0; }
  std::vector<float> save() const override { return {}; }
  void load(std::span<const float> /*saved*/) override {}
};

}  // namespace

std::unique_ptr<CodeNetwork> make_plain_code(const NetworkOptions& options) {
  GW_CHECK(options.channels == kBlock && options.decoders == 1);
  return std::make_unique<PlainCode>();
}

}  // namespace gradwire::learned
