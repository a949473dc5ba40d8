// GuardedFloats: memory for a decoder to write to, with guards before and behind it. Filled and
// compared by memcpy and memcmp, which cost little under sanitizers; it is to be used again and
// again.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace gradwire::fuzz {

class GuardedFloats {
 public:
  // All guards from now on, inside and outside.
  void reset(std::size_t elements) {
    before_ = kGuardElements + elements % kAlignments;
    elements_ = elements;
    const std::size_t all = before_ + elements + kGuardElements;
    if (guards_.size() < all) {
      guards_.assign(all, std::bit_cast<float>(kGuardBits));
      memory_.resize(all);
    }
    std::memcpy(memory_.data(), guards_.data(), all * sizeof(float));
  }
  void reset_to_zeros(std::size_t elements) {
    reset(elements);
    std::memset(memory_.data() + before_, 0, elements * sizeof(float));
  }

  std::span<float> floats() { return std::span(memory_).subspan(before_, elements_); }

  bool guards_hold() const {
    return are_guards(0, before_) && are_guards(before_ + elements_, kGuardElements);
  }
  bool is_untouched() const { return are_guards(0, before_ + elements_ + kGuardElements); }

 private:
  static constexpr std::size_t kGuardElements = 64;
  static constexpr std::size_t kAlignments = 16;  // so that the floats start anywhere in a vector
  // A signalling NaN: any arithmetic, even adding zero, would change its bits.
  static constexpr std::uint32_t kGuardBits = 0x7f80a5a5u;

  bool are_guards(std::size_t first, std::size_t count) const {
    return std::memcmp(memory_.data() + first, guards_.data(), count * sizeof(float)) == 0;
  }

  std::size_t before_ = 0;
  std::size_t elements_ = 0;
  std::vector<float> memory_;
  std::vector<float> guards_;  // what the memory should be where nothing was written
};

}  // namespace gradwire::fuzz
