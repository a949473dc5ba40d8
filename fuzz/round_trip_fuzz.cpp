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
  for (const std::string& spec : round_trip_specs()) codecs.push_back(make_codec(spec));
  return codecs;
}

std::vector<float> read_tensor(std::span<const std::byte> bytes, bool repeated) {
  const std::size_t own = std::min(bytes.size() / sizeof(float), kElementsMax);
  if (own == 0) return {};
  std::vector<float> values(repeated ? kElementsMax : own);
  for (std::size_t first = 0; first < values.size(); first += own) {
    std::memcpy(values.data() + first, bytes.data(),
                std::min(own, values.size() - first) * sizeof(float));
  }
  return values;
}

}  // namespace

void test_input(std::span<const std::byte> input) {
  static const std::vector<std::unique_ptr<const Codec>> codecs = make_fuzzed_codecs();
  if (input.size() < kValuesAt) return;
  const Codec& codec = *codecs[load_le<std::uint8_t>(input, kCodecAt) % codecs.size()];
  const bool repeated = load_le<std::uint8_t>(input, kRepeatedAt) >= kRepeatedFrom;
  const std::vector<float> tensor = read_tensor(input.subspan(kValuesAt), repeated);
  check_round_trip(codec, tensor, load_le<std::uint64_t>(input, kSeedAt));
}

}  // namespace gradwire::fuzz
