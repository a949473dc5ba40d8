// What a user of the installed library writes: a gradient to payload bytes and back.
#include <gradwire/gradwire.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

int main() {
  const std::vector<float> gradient{0.5f, -1.5f, 3.0f, 0.0f, 1e-3f, -0.7f, 42.0f};
  const auto codec = gradwire::make_codec("natural");
  const gradwire::Rng rng{.seed = 1, .tensor = gradwire::Rng::tensor_id("layer.weight")};
  gradwire::Workspace workspace;

  gradwire::Scale scale;
  codec->measure(gradient, rng, scale);
  std::vector<std::byte> payload(codec->payload_bytes_max(gradient.size()));
  const gradwire::Encoded encoded =
      codec->encode(scale, {.values = gradient}, rng, payload, workspace);
  payload.resize(encoded.bytes);

  std::vector<float> decoded(gradient.size());
  const auto result = codec->decode(payload, decoded, workspace);
  if (!result) {
    std::printf("refused: %s\n", result.error().what);
    return 1;
  }

  // Natural compression rounds to a neighbouring power of two.
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    if (std::abs(decoded[i] - gradient[i]) > std::abs(gradient[i])) {
      std::printf("element %zu: %g became %g\n", i, gradient[i], decoded[i]);
      return 1;
    }
  }
  std::printf("%s: %zu floats in %zu bytes\n", codec->spec().c_str(), gradient.size(),
              payload.size());
}
