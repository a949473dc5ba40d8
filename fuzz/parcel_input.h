// The input of the parcel's fuzz target: a choice of two bytes for the number of pieces, then the
// parcel. That of the counted parcel's: the same, then two bytes for the number of ranks, then the
// parcel with the counted ranks behind it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradwire::fuzz {

inline constexpr std::size_t kPieceCountBytes = sizeof(std::uint16_t);

inline constexpr std::size_t kRankCountBytes = sizeof(std::uint16_t);

}  // namespace gradwire::fuzz
