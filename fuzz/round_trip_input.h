// The input of the round_trip target: which codec (1 byte, modulo their number), whether the values
// are repeated to make a long tensor (1 byte, from kRepeatedFrom on), a seed (8 bytes), then the
// values.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradwire::fuzz {

inline constexpr std::size_t kCodecAt = 0;
inline constexpr std::size_t kRepeatedAt = 1;
inline constexpr std::size_t kSeedAt = 2;
inline constexpr std::size_t kValuesAt = 10;

// High, so that most inputs are short and quick.
inline constexpr std::uint8_t kRepeatedFrom = 0xf0;

}  // namespace gradwire::fuzz
