// Measures the speed of a codec on tensors. As in an exchange, they are encoded piece by piece.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "advise/at_once.h"
#include "gradwire/codec/codec.h"
#include "gradwire/method/method.h"

namespace gradwire::advise {

// Seconds per element, for one worker.
struct CodecSpeed {
  double measure = 0;
  double encode = 0;
  double decode = 0;
  double decode_add = 0;

  double payload_bytes = 0;   // for each element
  double relative_error = 0;  // |C(v) - v| / |v|, euclidean
};

// `values` holds the values of all tensors, one after the other.
CodecSpeed measure_codec(const Codec& codec, const std::vector<MethodTensor>& tensors,
                         std::span<const float> values, const HostLoad& load, std::size_t rounds);

}  // namespace gradwire::advise
