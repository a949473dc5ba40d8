// GuardedFloats: memory for a decoder to write to, with guards before and behind it. Filled and
// compared by memcpy and memcmp, which cost little under sanitizers.
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
  explicit GuardedFloats(std::size_t elements)
      : before_(kGuardElements + elements % kAlignments),
        elements_(elements),
        memory_(guards(before_ + elements + kGuardElements)) {}

  std::span<float> floats() { return std::span(memory_).subspan(before_, elements_); }

  void set_to_zero() { std::memset(memory_.data() + before_, 0, elements_ * sizeof(float)); }

  bool guards_hold() const {
    return are_guards(0, before_) && are_guards(before_ + elements_, kGuardElements);
  }
  bool is_untouched() const { return are_guards(0, memory_.size()); }

 private:
  static constexpr std::size_t kGuardElements = 64;
  static constexpr std::size_t kAlignments = 16;  // so that the floats start anywhere in a vector

  // Signalling NaNs: any arithmetic, even adding zero, would change their bits.
  static std::vector<float> guards(std::size_t count) {
    if (pattern_.size() < count) pattern_.assign(count, std::bit_cast<float>(0x7f80a5a5u));
    return {pattern_.begin(), pattern_.begin() + static_cast<std::ptrdiff_t>(count)};
  }
  bool are_guards(std::size_t first, std::size_t count) const {
    return std::memcmp(memory_.data() + first, pattern_.data(), count * sizeof(float)) == 0;
  }

  inline static std::vector<float> pattern_;  // as long as the longest memory so far

  std::size_t before_;
  std::size_t elements_;
  std::vector<float> memory_;
};

}  // namespace gradwire::fuzz
