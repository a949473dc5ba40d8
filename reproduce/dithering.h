// Natural dithering against random dithering: the same tensor on levels that halve, and on levels
// at equal distances. A part of the claim on natural compression.
#pragma once

#include "reproduce/claim.h"
#include "reproduce/workbench.h"

namespace gradwire::reproduce {

inline constexpr std::size_t kDitheringTrials = 1;

void add_dithering(Workbench& bench, Claim& claim);

// E|C(x) - x|^2 / |x|^2, exactly, of rounding |x_j| / scale without bias to its neighbours.
// Random dithering: levels k/u. Natural dithering: 0 and 2^(1-s), ..., 1/2, 1.
double random_dithering_variance(std::span<const float> values, double scale, double levels);
double natural_dithering_variance(std::span<const float> values, double scale, int levels);

}  // namespace gradwire::reproduce
