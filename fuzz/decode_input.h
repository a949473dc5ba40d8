// The input of a decoder's fuzz target: a choice of two bytes for the number of elements, then the
// payload.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradwire::fuzz {

// The target's name among kFuzzedCodecs.
extern const char* const kDecodedCodec;

inline constexpr std::size_t kChoiceBytes = sizeof(std::uint16_t);

// Most choices give a few blocks of elements. The last sixteenth of them lies around the length
// where the entropy stage begins its second chunk.
inline constexpr std::size_t kFewElementsMax = 20'000;
inline constexpr std::uint16_t kFirstLongChoice = 0xf000;
inline constexpr std::size_t kLongElementsMin = 128 * 1024 - 2048;

constexpr std::size_t elements_of_choice(std::uint16_t choice) {
  return choice < kFirstLongChoice ? choice % (kFewElementsMax + 1)
                                   : kLongElementsMin + (choice - kFirstLongChoice);
}

constexpr std::uint16_t choice_of_elements(std::size_t elements) {
  return static_cast<std::uint16_t>(
      elements <= kFewElementsMax ? elements : kFirstLongChoice + (elements - kLongElementsMin));
}

}  // namespace gradwire::fuzz
