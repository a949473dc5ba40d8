// Decoders: any bytes are decoded or refused with a reason. What is refused leaves the target as it
// was; what is decoded depends on the bytes alone.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "fuzz/codecs.h"
#include "fuzz/decode_input.h"
#include "fuzz/guarded_floats.h"
#include "fuzz/target.h"
#include "gradwire/codec/codec.h"
#include "gradwire/codec/huffman.h"
#include "gradwire/core/bytes.h"
#include "gradwire/core/check.h"

namespace gradwire::fuzz {
namespace {

static_assert(kLongElementsMin < kHuffmanSymbolsMax);
static_assert(elements_of_choice(0xffff) > kHuffmanSymbolsMax);

std::unique_ptr<const Codec> make_fuzzed_codec() {
  const auto* const entry =
      std::find_if(std::begin(kFuzzedCodecs), std::end(kFuzzedCodecs),
                   [](const FuzzedCodec& codec) { return codec.name == kDecodedCodec; });
  GW_CHECK(entry != std::end(kFuzzedCodecs));
  return make_codec(entry->spec);
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

// As sums: 0 + -0 is 0, and adding may change which NaN it is.
bool same_values(std::span<const float> a, std::span<const float> b) {
  if (same_bits(a, b)) return true;
  return std::equal(a.begin(), a.end(), b.begin(), [](const float& x, const float& y) {
    return x == y || (std::isnan(x) && std::isnan(y));
  });
}

void check_refused(const DecodeError& error, std::span<const std::byte> payload,
                   const GuardedFloats& target) {
  GW_CHECK(std::strlen(error.what) > 0);
  GW_CHECK(error.byte_offset <= payload.size());
  GW_CHECK(target.is_untouched());
}

}  // namespace

void test_input(std::span<const std::byte> input) {
  static const std::unique_ptr<const Codec> codec = make_fuzzed_codec();
  static Workspace used_workspace;  // by all inputs before
  if (input.size() < kChoiceBytes) return;
  const std::size_t elements = elements_of_choice(load_le<std::uint16_t>(input, 0));
  const std::span<const std::byte> payload = input.subspan(kChoiceBytes);

  static GuardedFloats decoded, again, sum;
  Workspace new_workspace;
  decoded.reset(elements);
  const Decoded<void> result = codec->decode(payload, decoded.floats(), new_workspace);
  if (!result) {
    check_refused(result.error(), payload, decoded);
    sum.reset(elements);
    const Decoded<void> added = codec->decode_add(payload, 1, sum.floats(), used_workspace);
    GW_CHECK(!added);
    check_refused(added.error(), payload, sum);
    return;
  }
  GW_CHECK(decoded.guards_hold());

  again.reset_to_zeros(elements);
  GW_CHECK(codec->decode(payload, again.floats(), used_workspace));
  GW_CHECK(again.guards_hold());
  GW_CHECK(same_bits(decoded.floats(), again.floats()));

  sum.reset_to_zeros(elements);
  GW_CHECK(codec->decode_add(payload, 1, sum.floats(), used_workspace));
  GW_CHECK(sum.guards_hold());
  GW_CHECK(same_values(decoded.floats(), sum.floats()));
}

}  // namespace gradwire::fuzz
