// The part of the claim on natural compression that goes beyond the publication: other bases
// than 2.
#pragma once

#include <cstddef>
#include <span>

#include "reproduce/claim.h"
#include "reproduce/workbench.h"

namespace gradwire::reproduce {

// Bits against omega, with the entropy stage.
inline constexpr std::size_t kBaseTrials = 1;
void add_bases(Workbench& bench, std::span<const float> gradient, Claim& claim);

}  // namespace gradwire::reproduce
