#include "reproduce/codec_trial.h"

#include <vector>

#include "gradwire/codec/codec.h"
#include "gradwire/core/check.h"

namespace gradwire::reproduce {
namespace {

double squared_norm(std::span<const float> values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

}  // namespace

CodecTrial try_codec(const std::string& spec, std::span<const float> tensor, std::size_t draws,
                     std::uint64_t seed) {
  const auto codec = make_codec(spec);
  const std::size_t elements = tensor.size();
  std::vector<std::byte> payload(codec->payload_bytes_max(elements));
  std::vector<float> decoded(elements);
  std::vector<double> sum(elements);
  Scale scale;
  Workspace workspace;
  CodecTrial trial;
  for (std::size_t draw = 0; draw < draws; ++draw) {
    const Rng rng{.seed = seed, .step = draw};
    codec->measure(tensor, rng, scale);
    const auto encoded = codec->encode(scale, {.values = tensor}, rng, payload, workspace);
    GW_CHECK(codec->decode(std::span(payload).first(encoded.bytes), decoded, workspace));
    trial.bits += 8 * static_cast<double>(encoded.bytes);
    trial.growth += squared_norm(decoded);
    for (std::size_t j = 0; j < elements; ++j) {
      const double error = double{decoded[j]} - double{tensor[j]};
      trial.error_squared += error * error;
      sum[j] += decoded[j];
    }
  }
  const auto count = static_cast<double>(draws);
  for (std::size_t j = 0; j < elements; ++j) {
    const double error = sum[j] / count - double{tensor[j]};
    trial.bias_squared += error * error;
  }
  const double norm = squared_norm(tensor);
  trial.bits /= count * static_cast<double>(elements);
  trial.growth /= count * norm;
  trial.error_squared /= count * norm;
  trial.bias_squared /= norm;
  return trial;
}

}  // namespace gradwire::reproduce
