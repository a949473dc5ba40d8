// How fast codecs are, how small, and how exact, on one tensor.
//
// Speeds are GB of floats in a second. What memory allows is measured in the same run: every time a
// codec is measured, a copy of the tensor and a pass that only reads it come right before. Codecs
// take turns, round after round, and the median over the rounds is the figure; so is the median of
// the ratio of a codec to the copy right before it, which other load on the machine disturbs least.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "console/progress.h"
#include "gradwire/codec/codec.h"

namespace gradwire::bench {

struct Speed {
  double gbps = 0;
  double memcpy_ratio = 0;  // 1 is as fast as memcpy
};

struct CodecFigures {
  std::string spec;
  Speed encode;  // measures and encodes
  Speed decode;
  Speed decode_add;
  double bits_per_element = 0;  // of the payload
  double relative_error = 0;    // |C(x) - x| / |x|, euclidean
};

struct CodecsFigures {
  double memcpy_gbps = 0;
  double read_gbps = 0;
  std::vector<CodecFigures> codecs;
};

struct CodecsOptions {
  std::size_t threads = 1;  // one encodes the tensor as one range; more share segments of it
  std::size_t rounds = 15;
};

using Codecs = std::vector<std::unique_ptr<const Codec>>;

// How often measure_codecs steps its progress.
std::size_t codecs_steps(const Codecs& codecs, const CodecsOptions& options);

// The tensor has at least one element; it should start at a page of memory.
CodecsFigures measure_codecs(std::span<const float> tensor, const Codecs& codecs,
                             const CodecsOptions& options, console::Progress& progress);

}  // namespace gradwire::bench
