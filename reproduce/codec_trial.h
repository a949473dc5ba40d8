// CodecTrial: encodes one tensor many times, and measures the payload and the error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace gradwire::reproduce {

struct CodecTrial {
  double bits = 0;           // of payload for each element
  double growth = 0;         // E|C(x)|^2 / |x|^2
  double error_squared = 0;  // E|C(x) - x|^2 / |x|^2
  double bias_squared = 0;   // |mean C(x) - x|^2 / |x|^2, of the mean over all draws
};

// The same draws for the same arguments. Throws SpecError.
CodecTrial try_codec(const std::string& spec, std::span<const float> tensor, std::size_t draws,
                     std::uint64_t seed = 1);

}  // namespace gradwire::reproduce
