// The codecs that are fuzzed. Each has a target of its own for its decoder, decode_NAME, and all of
// them take part in round_trip. cmake/fuzz.cmake reads the names from here: one line a codec.
#pragma once

#include <string_view>

namespace gradwire::fuzz {

struct FuzzedCodec {
  std::string_view name;
  std::string_view spec;
};

inline constexpr FuzzedCodec kFuzzedCodecs[] = {
    {"none", "none"},
    {"fp16", "fp16"},
    {"bf16", "bf16"},
    {"natural", "natural"},
    {"natural8", "natural(bits=8)"},
    {"natural_dither", "natural_dither(levels=7)"},
    {"natural_dither_l2", "natural_dither(levels=20, norm=l2, bucket=100)"},
    {"qsgd8", "qsgd(bits=8)"},
    {"qsgd4", "qsgd(bits=4)"},
    {"qsgd4_l2", "qsgd(bits=4, norm=l2)"},
    {"qsgd3", "qsgd(bits=3, bucket=7)"},
    {"qsgd2", "qsgd(bits=2)"},
    {"terngrad", "terngrad"},
    {"sign", "sign"},
    {"topk", "topk(10%)"},
    {"randk", "randk(10%)"},
    {"threshold", "threshold(0.5)"},
    {"none_entropy", "none | entropy"},
    {"fp16_entropy", "fp16 | entropy"},
    {"natural_entropy", "natural | entropy"},
    {"qsgd_entropy", "qsgd(bits=4) | entropy"},
    {"terngrad_entropy", "terngrad | entropy"},
    {"topk_qsgd", "topk(10%) | qsgd(bits=4, bucket=64)"},
    {"topk_natural_entropy", "topk(10%) | natural | entropy"},
    {"randk_natural", "randk(10%) | natural"},
    {"threshold_sign", "threshold(0.5) | sign"},
};

}  // namespace gradwire::fuzz
