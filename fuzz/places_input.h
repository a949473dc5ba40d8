// What the places' fuzz target reads: messages of two layers, with values by these codecs. The
// first byte chooses.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace gradwire::fuzz {

inline constexpr double kPlaceShare = 0.05;
inline constexpr std::array kPlaceCodecs = {"sign", "natural | entropy"};
inline const std::vector<std::size_t> kPlaceLayers = {300, 1000};

}  // namespace gradwire::fuzz
