// Random numbers of a code, the same on all ranks. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace gradwire {

// From -1 to 1.
void fill_random(std::uint64_t seed, std::uint64_t step, std::string_view what,
                 std::span<float> values);

// Where a stretch of `some` blocks begins that is learned from in a step, among `all`.
std::size_t draw_window(std::uint64_t seed, std::uint64_t step, std::size_t some, std::size_t all);

}  // namespace gradwire
