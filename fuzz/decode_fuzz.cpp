// The decoder of one codec of codecs.h.
#include <algorithm>

#include "fuzz/check_decoder.h"
#include "fuzz/codecs.h"
#include "fuzz/decode_input.h"
#include "fuzz/target.h"
#include "gradwire/core/check.h"

namespace gradwire::fuzz {
namespace {

std::unique_ptr<const Codec> make_fuzzed_codec() {
  const auto* const entry =
      std::find_if(std::begin(kFuzzedCodecs), std::end(kFuzzedCodecs),
                   [](const FuzzedCodec& codec) { return codec.name == kDecodedCodec; });
  GW_CHECK(entry != std::end(kFuzzedCodecs));
  return make_codec(entry->spec);
}

}  // namespace

void test_input(std::span<const std::byte> input) {
  static const std::unique_ptr<const Codec> codec = make_fuzzed_codec();
  static Workspace workspace;
  check_decoder(*codec, input, workspace);
}

}  // namespace gradwire::fuzz
