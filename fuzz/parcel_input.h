// The input of the parcel's fuzz target: a choice of two bytes for the number of pieces, then the
// parcel.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradwire::fuzz {

inline constexpr std::size_t kPieceCountBytes = sizeof(std::uint16_t);

}  // namespace gradwire::fuzz
