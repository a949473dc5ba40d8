// Encoders: floats of any bits are encoded, and their payloads decoded.
#include <algorithm>
#include <cstring>
#include <vector>

#include "fuzz/codecs.h"
#include "fuzz/round_trip.h"
#include "fuzz/round_trip_input.h"
#include "fuzz/target.h"
#include "gradwire/core/bytes.h"

namespace gradwire::fuzz {
namespace {

constexpr std::size_t kElementsMax = 9'000;  // more than a block

std::vector<std::unique_ptr<const Codec>> make_fuzzed_codecs() {
  std::vector<std::unique_ptr<const Codec>> codecs;
  for (const FuzzedCodec& codec : kFuzzedCodecs) codecs.push_back(make_codec(codec.spec));
  return codecs;
}

// Repeated, so that short inputs reach the code for many blocks.
std::vector<float> read_tensor(std::span<const std::byte> bytes, std::size_t repeats) {
  std::vector<float> values(std::min(bytes.size() / sizeof(float), kElementsMax));
  if (values.empty()) return values;
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  const std::size_t own = values.size();
  values.resize(std::min(own * std::max<std::size_t>(1, repeats), kElementsMax));
  for (std::size_t i = own; i < values.size(); ++i) {
    std::memcpy(&values[i], &values[i - own], sizeof(float));
  }
  return values;
}

}  // namespace

void test_input(std::span<const std::byte> input) {
  static const std::vector<std::unique_ptr<const Codec>> codecs = make_fuzzed_codecs();
  if (input.size() < kValuesAt) return;
  const Codec& codec = *codecs[load_le<std::uint8_t>(input, kCodecAt) % codecs.size()];
  const std::vector<float> tensor =
      read_tensor(input.subspan(kValuesAt), load_le<std::uint8_t>(input, kRepeatsAt));
  check_round_trip(codec, tensor, load_le<std::uint64_t>(input, kSeedAt));
}

}  // namespace gradwire::fuzz
