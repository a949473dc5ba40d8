// Tells one decoder's fuzz target from another: compiled once a codec, while all that does work is
// compiled once.
#include "fuzz/decode_input.h"

namespace gradwire::fuzz {

const char* const kDecodedCodec = GW_FUZZ_CODEC;

}  // namespace gradwire::fuzz
