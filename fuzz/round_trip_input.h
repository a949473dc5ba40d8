// The input of the round_trip target: which codec (1 byte, modulo their number), how many times the
// values are repeated (1 byte), a seed (8 bytes), then the values.
#pragma once

#include <cstddef>

namespace gradwire::fuzz {

inline constexpr std::size_t kCodecAt = 0;
inline constexpr std::size_t kRepeatsAt = 1;
inline constexpr std::size_t kSeedAt = 2;
inline constexpr std::size_t kValuesAt = 10;

}  // namespace gradwire::fuzz
