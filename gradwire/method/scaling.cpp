#include "gradwire/method/scaling.h"

#include "gradwire/core/check.h"

namespace gradwire {
namespace {

// The kind of a codec's guarantee does not depend on the length, as long as there are elements
// enough for all that it does.
constexpr std::size_t kUsualElements = std::size_t{1} << 20;

// Empty if it is right on average.
std::string bias_of(const Codec& codec) {
  const Guarantee guarantee = codec.guarantee(kUsualElements);
  if (guarantee.kind == Guarantee::Kind::unbiased) return {};
  return codec.spec() + " is not" + (guarantee.reason.empty() ? "" : ": " + guarantee.reason);
}

}  // namespace

float contraction_scale(const Codec& codec, std::size_t elements) {
  const Guarantee guarantee = codec.guarantee(elements);
  const bool has_to_be = guarantee.kind == Guarantee::Kind::unbiased && guarantee.constant >= 1;
  return has_to_be ? static_cast<float>(1 / (1 + guarantee.constant)) : 1.0F;
}

std::vector<float> contraction_scales(const Codec& codec,
                                      const std::vector<MethodTensor>& tensors) {
  std::vector<float> scales;
  for (const MethodTensor& tensor : tensors) {
    scales.push_back(contraction_scale(codec, tensor.elements()));
  }
  return scales;
}

double omega(const Codec& codec, std::size_t elements) {
  const Guarantee guarantee = codec.guarantee(elements);
  GW_CHECK(guarantee.kind == Guarantee::Kind::unbiased);
  return guarantee.constant;
}

std::string why_not_with_error_memory(const Codec& codec) {
  const Guarantee guarantee = codec.guarantee(kUsualElements);
  if (guarantee.kind != Guarantee::Kind::none || codec.bounds_unsent()) return {};
  return "an error memory needs a codec whose error is smaller than what it codes, and " +
         codec.spec() + " has no such guarantee: " + guarantee.reason;
}

std::string why_not_with_shifts(const Codec& codec) {
  const std::string bias = bias_of(codec);
  if (bias.empty()) return {};
  return "shifts need a codec that is right on average, and " + bias + "; take ef or ef21 for it";
}

std::string why_not_without_memory(const Codec& codec) {
  const std::string bias = bias_of(codec);
  if (bias.empty()) return {};
  return "without a memory a codec has to be right on average, and " + bias + "; take sasg for it";
}

}  // namespace gradwire
