// The bytes between a TcpStore and its server. All numbers are little-endian.
//
//   client, once    the greeting: magic, 8 bytes, and the run's key, u64
//   server, once    magic, 8 bytes; it drops a connection with another greeting
//   request         u32 what, u32 key bytes, u32 value bytes, u32 milliseconds to wait, key, value
//   reply           u32 status, u32 value bytes, value
//
// A client has one request under way at a time. The version is in the magic.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "gradwire/core/bytes.h"

namespace gradwire {

inline constexpr std::array<char, 8> kStoreMagic = {'G', 'W', 'S', 'T', 'O', 'R', 'E', '2'};
inline constexpr std::size_t kStoreKeyBytesMax = 256;
inline constexpr std::size_t kStoreValueBytesMax = 1 << 14;

// What a client says first.
struct StoreGreeting {
  static constexpr std::size_t kBytes = 16;
  using Bytes = std::array<std::byte, kBytes>;

  static Bytes write(std::uint64_t run_key) {
    Bytes bytes{};
    std::ranges::copy(std::as_bytes(std::span(kStoreMagic)), bytes.begin());
    store_le(bytes, kStoreMagic.size(), run_key);
    return bytes;
  }
};

enum class StoreRequest : std::uint32_t { add = 1, get = 2 };
enum class StoreStatus : std::uint32_t { ok = 0, exists = 1, missing = 2 };

struct StoreRequestHeader {
  StoreRequest what = StoreRequest::get;
  std::uint32_t key_bytes = 0;
  std::uint32_t value_bytes = 0;
  std::uint32_t wait_ms = 0;

  static constexpr std::size_t kBytes = 16;

  void write(std::span<std::byte> bytes) const {
    store_le(bytes, 0, static_cast<std::uint32_t>(what));
    store_le(bytes, 4, key_bytes);
    store_le(bytes, 8, value_bytes);
    store_le(bytes, 12, wait_ms);
  }
  static StoreRequestHeader read(std::span<const std::byte> bytes) {
    return {static_cast<StoreRequest>(load_le<std::uint32_t>(bytes, 0)),
            load_le<std::uint32_t>(bytes, 4), load_le<std::uint32_t>(bytes, 8),
            load_le<std::uint32_t>(bytes, 12)};
  }

  // Whether a server should listen on.
  bool makes_sense() const {
    const bool adds = what == StoreRequest::add && value_bytes <= kStoreValueBytesMax;
    const bool gets = what == StoreRequest::get && value_bytes == 0;
    return (adds || gets) && key_bytes <= kStoreKeyBytesMax;
  }
};

struct StoreReplyHeader {
  StoreStatus status = StoreStatus::ok;
  std::uint32_t value_bytes = 0;

  static constexpr std::size_t kBytes = 8;

  void write(std::span<std::byte> bytes) const {
    store_le(bytes, 0, static_cast<std::uint32_t>(status));
    store_le(bytes, 4, value_bytes);
  }
  static StoreReplyHeader read(std::span<const std::byte> bytes) {
    return {static_cast<StoreStatus>(load_le<std::uint32_t>(bytes, 0)),
            load_le<std::uint32_t>(bytes, 4)};
  }
};

}  // namespace gradwire
