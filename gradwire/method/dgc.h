// The options of dgc, and its codec in each step. dgc applies momentum before sparsification, and
// clears momentum and error of the elements that were sent. Value types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gradwire/codec/codec.h"

namespace gradwire {

struct DgcOptions {
  double share = 0.001;
  double momentum = 0.9;
  std::optional<double> clip = {};  // limit on the norm of one worker's whole gradient
  std::size_t warmup_steps = 0;
  std::string values = {};                 // codec of the kept values; empty: plain floats
  std::shared_ptr<const Codec> down = {};  // null: the same as the uplink
};

// The spec of the uplink's codec in a step. During the warm-up the share shrinks to its final
// value.
std::string dgc_codec_spec(const DgcOptions& options, std::uint64_t step);

}  // namespace gradwire
