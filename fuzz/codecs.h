// Codecs that have a fuzz target of their own for their decoder, decode_NAME: the settings that
// differ most. cmake/fuzz.cmake reads the names from here: one line for each. All examples of the
// registry are fuzzed by example_decoders and round_trip, without a line here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gradwire/codec/codec.h"

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
    {"twobit", "twobit(bucket=100)"},
    {"topk", "topk(10%)"},
    {"topk_chunks", "topk(1%, chunk=64)"},
    {"topk_chunks_twobit", "topk(10%, chunk=100) | twobit(bucket=10)"},
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

// An input of round_trip chooses one by its number.
inline std::vector<std::string> round_trip_specs() {
  std::vector<std::string> specs;
  for (const FuzzedCodec& codec : kFuzzedCodecs) specs.emplace_back(codec.spec);
  for (const std::string& example : example_codec_specs()) specs.push_back(example);
  return specs;
}

}  // namespace gradwire::fuzz
