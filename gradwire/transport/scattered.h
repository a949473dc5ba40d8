// Scattered: the memory of one message, in one stretch or in several. It refers to the memory, and
// to the list of the stretches behind the first one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

namespace gradwire {

// Byte is std::byte, or const std::byte.
template <class Byte>
class Scattered {
 public:
  using Parts = std::span<const std::span<Byte>>;

  Scattered() = default;
  explicit(false) Scattered(std::span<Byte> first, Parts rest = {}) : first_(first), rest_(rest) {
    bytes_ = first.size();
    for (const std::span<Byte> part : rest) bytes_ += part.size();
  }

  std::size_t bytes() const { return bytes_; }

  // Calls use(stretch) for the stretches of bytes `from` to `to`, in order, while it returns true.
  // Returns whether it did for all of them.
  template <class Use>
  bool for_each(std::size_t from, std::size_t to, const Use& use) const {
    std::size_t at = 0;  // where the part begins
    const auto visit = [&](std::span<Byte> part) {
      const std::size_t begin = std::clamp(from, at, at + part.size()) - at;
      const std::size_t end = std::clamp(to, at, at + part.size()) - at;
      at += part.size();
      return begin == end || use(part.subspan(begin, end - begin));
    };
    if (!visit(first_)) return false;
    for (const std::span<Byte> part : rest_) {
      if (at >= to) break;
      if (!visit(part)) return false;
    }
    return true;
  }

  // Copies bytes into it, or the first bytes out of it.
  void copy_in(std::size_t at, std::span<const std::byte> bytes) const {
    for_each(at, at + bytes.size(), [&](std::span<Byte> part) {
      std::memcpy(part.data(), bytes.data(), part.size());
      bytes = bytes.subspan(part.size());
      return true;
    });
  }
  void copy_out(std::span<std::byte> bytes) const {
    for_each(0, bytes.size(), [&](std::span<Byte> part) {
      std::memcpy(bytes.data(), part.data(), part.size());
      bytes = bytes.subspan(part.size());
      return true;
    });
  }

 private:
  std::span<Byte> first_ = {};
  Parts rest_ = {};
  std::size_t bytes_ = 0;
};

using MessageToSend = Scattered<const std::byte>;
using MessageRoom = Scattered<std::byte>;

}  // namespace gradwire
