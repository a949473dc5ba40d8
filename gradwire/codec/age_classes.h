// Classes of ages: how many messages ago an element was sent, at most 255. Pure values.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace gradwire {

inline constexpr std::size_t kAgeClasses = 17;
inline constexpr std::uint8_t kAgeNever = 255;

inline constexpr auto kAgeClassOf = [] {
  constexpr std::array<std::uint8_t, kAgeClasses - 1> limits = {3,  6,  10, 14, 18, 22,  26,  30,
                                                                36, 44, 54, 70, 90, 120, 160, 250};
  std::array<std::uint8_t, 256> table{};
  for (std::size_t age = 0; age < table.size(); ++age) {
    const auto below = std::ranges::count_if(limits, [&](auto limit) { return limit <= age; });
    table[age] = static_cast<std::uint8_t>(below);
  }
  return table;
}();

}  // namespace gradwire
