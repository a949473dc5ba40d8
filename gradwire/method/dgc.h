// dgc's options, and the codec that they make of a step: momentum before sparsification, and both
// cleared where something was sent. Value types.
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
  std::optional<double> clip = {};  // of the norm of the whole gradient, for one worker
  std::size_t warmup_steps = 0;
  std::string values = {};                 // how kept values are written; empty: as they are
  std::shared_ptr<const Codec> down = {};  // null: as the uplink
};

// The uplink in a step: the share shrinks to its final value over the warm-up.
std::string dgc_codec_spec(const DgcOptions& options, std::uint64_t step);

}  // namespace gradwire
