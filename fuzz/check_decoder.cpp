#include "fuzz/check_decoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "fuzz/decode_input.h"
#include "fuzz/guarded_floats.h"
#include "gradwire/codec/huffman.h"
#include "gradwire/core/bytes.h"
#include "gradwire/core/check.h"

namespace gradwire::fuzz {
namespace {

static_assert(kLongElementsMin < kHuffmanSymbolsMax);
static_assert(elements_of_choice(0xffff) > kHuffmanSymbolsMax);

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

void check_decoder(const Codec& codec, std::span<const std::byte> input,
                   Workspace& used_workspace) {
  if (input.size() < kChoiceBytes) return;
  const std::size_t elements = elements_of_choice(load_le<std::uint16_t>(input, 0));
  const std::span<const std::byte> payload = input.subspan(kChoiceBytes);

  static GuardedFloats decoded, again, sum;
  Workspace new_workspace;
  decoded.reset(elements);
  const Decoded<void> result = codec.decode(payload, decoded.floats(), new_workspace);
  if (!result) {
    check_refused(result.error(), payload, decoded);
    sum.reset(elements);
    const Decoded<void> added = codec.decode_add(payload, 1, sum.floats(), used_workspace);
    GW_CHECK(!added);
    check_refused(added.error(), payload, sum);
    return;
  }
  GW_CHECK(decoded.guards_hold());

  again.reset_to_zeros(elements);
  GW_CHECK(codec.decode(payload, again.floats(), used_workspace));
  GW_CHECK(again.guards_hold());
  GW_CHECK(same_bits(decoded.floats(), again.floats()));

  sum.reset_to_zeros(elements);
  GW_CHECK(codec.decode_add(payload, 1, sum.floats(), used_workspace));
  GW_CHECK(sum.guards_hold());
  GW_CHECK(same_values(decoded.floats(), sum.floats()));
}

}  // namespace gradwire::fuzz
