// The first bytes on a connection: who connects, and what for. Whoever does not know the key of the
// group, which the ranks share when they meet, is dropped before anything is allocated for it.
//
//   magic      0  8  "gwtcp\0\1\0"
//   key        8  16 of the group
//   rank       24 4  of the rank that connects
//   peer       28 4  the rank that it wants to reach
//   link       32 2  0 is for presence, all others are for data
//   links      34 2  how many links there are between two ranks
//   zero       36 4
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace gradwire {

using GroupKey = std::array<std::byte, 16>;

struct TcpHello {
  static constexpr std::size_t kBytes = 40;
  using Bytes = std::array<std::byte, kBytes>;

  GroupKey key{};
  std::uint32_t rank = 0;
  std::uint32_t peer = 0;
  std::uint16_t link = 0;
  std::uint16_t links = 0;

  Bytes write() const;

  // Nothing for bytes that are no hello of the group with that key.
  static std::optional<TcpHello> read(const Bytes& bytes, const GroupKey& key);
};

// What the rank that was reached answers.
inline constexpr std::byte kTcpWelcome{0x77};

}  // namespace gradwire
