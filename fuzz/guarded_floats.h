// GuardedFloats: memory for a decoder to write to, with guards before and behind it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gradwire::fuzz {

class GuardedFloats {
 public:
  // A signalling NaN: any arithmetic, even adding zero, would change its bits.
  static constexpr std::uint32_t kGuardBits = 0x7f80a5a5u;

  explicit GuardedFloats(std::size_t elements, std::uint32_t fill_bits = kGuardBits)
      : fill_bits_(fill_bits),
        before_(kGuardElements + elements % kAlignments),
        memory_(before_ + elements + kGuardElements, std::bit_cast<float>(kGuardBits)),
        elements_(elements) {
    std::fill_n(memory_.begin() + static_cast<std::ptrdiff_t>(before_), elements,
                std::bit_cast<float>(fill_bits));
  }

  std::span<float> floats() { return std::span(memory_).subspan(before_, elements_); }

  bool guards_hold() const {
    const std::span<const float> all(memory_);
    return have_bits(all.first(before_), kGuardBits) &&
           have_bits(all.subspan(before_ + elements_), kGuardBits);
  }
  bool is_untouched() const {
    return guards_hold() &&
           have_bits(std::span<const float>(memory_).subspan(before_, elements_), fill_bits_);
  }

 private:
  static constexpr std::size_t kGuardElements = 64;
  static constexpr std::size_t kAlignments = 16;  // so that the floats start anywhere in a vector

  static bool have_bits(std::span<const float> floats, std::uint32_t bits) {
    return std::all_of(floats.begin(), floats.end(), [bits](const float& value) {
      return std::bit_cast<std::uint32_t>(value) == bits;
    });
  }

  std::uint32_t fill_bits_;
  std::size_t before_;
  std::vector<float> memory_;
  std::size_t elements_;
};

}  // namespace gradwire::fuzz
