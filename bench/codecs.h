// Measures codecs on one tensor: their speed, their payload and their error.
//
// Speeds are in GB of floats per second. A copy of the tensor and a pass that only reads it are
// measured right before each codec, as yardsticks. The codecs take turns, round after round. A
// figure is the median over the rounds. The ratio is the median of each round's ratio to the copy
// right before, since load on the machine disturbs both alike.
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
  std::string target;  // of the kernels, such as avx2
  double memcpy_gbps = 0;
  double read_gbps = 0;
  std::vector<CodecFigures> codecs;
};

struct CodecsOptions {
  std::size_t threads = 1;  // one encodes the tensor as one range; more share segments of it
  std::size_t rounds = 15;
  std::string target;  // holds the kernels to it; empty: the best that the machine has
};

using Codecs = std::vector<std::unique_ptr<const Codec>>;

// The number of steps that measure_codecs reports to its progress.
std::size_t codecs_steps(const Codecs& codecs, const CodecsOptions& options);

// The tensor has at least one element, and should be aligned to a page (see page_array.h). Throws
// Error for a target that the machine does not have.
CodecsFigures measure_codecs(std::span<const float> tensor, const Codecs& codecs,
                             const CodecsOptions& options, console::Progress& progress);

}  // namespace gradwire::bench
