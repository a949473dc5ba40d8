// What the fuzz target lgc_indices reads: messages of two layers, with values by these codecs. The
// first byte chooses.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace gradwire::fuzz {

inline constexpr double kIndexShare = 0.05;
inline constexpr std::array kIndexCodecs = {"sign", "natural | entropy"};
inline const std::vector<std::size_t> kIndexLayers = {300, 1000};

}  // namespace gradwire::fuzz
