// Finding the few elements to keep among many.
#pragma once

#include "gradwire/core/random.h"
#include "gradwire/kernel/block.h"

namespace gradwire::kernel {

// Room that the outputs need behind the elements of one block.
inline constexpr std::size_t kSelectRoom = kVirtualLanes;

// Writes the index of every value whose magnitude bits are above `threshold`, in order, and returns
// how many. Indices count from `first_index`. `indices` has room for values.size() + kSelectRoom.
std::size_t select_above(std::span<const float> values, std::uint32_t threshold,
                         std::uint32_t first_index, std::span<std::uint32_t> indices,
                         const Ahead& ahead);

// Writes the elements j < count with draws.at(j) <= last, in order, as first_index + j, and
// returns how many. `indices` has room for count + kSelectRoom.
std::size_t select_drawn(RandomStream draws, std::uint32_t last, std::size_t count,
                         std::uint32_t first_index, std::span<std::uint32_t> indices,
                         const Ahead& ahead);

namespace scalar {
std::size_t select_above(std::span<const float> values, std::uint32_t threshold,
                         std::uint32_t first_index, std::span<std::uint32_t> indices,
                         const Ahead& ahead);
std::size_t select_drawn(RandomStream draws, std::uint32_t last, std::size_t count,
                         std::uint32_t first_index, std::span<std::uint32_t> indices,
                         const Ahead& ahead);
}  // namespace scalar

}  // namespace gradwire::kernel
