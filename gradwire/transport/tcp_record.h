// The records on a TCP connection between two ranks. A record is a header of 16 bytes; a `data`
// header is followed by the bytes of one message.
//
//   kind       0  4  u32: kind << 24 | tag
//   sequence   4  4  u32: which message of its tag, from 0; it wraps around
//   bytes      8  8  u64: ready: the room of the receiver; data: the length of the message
//
// A receiver that is started sends `ready`. A sender waits for it before it sends `data`. So every
// message that arrives has its memory already, and lanes that share a connection cannot block one
// another.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "gradwire/core/bytes.h"
#include "gradwire/transport/transport.h"

namespace gradwire {

struct TcpRecord {
  enum class Kind : std::uint8_t { ready = 1, data = 2 };

  static constexpr std::size_t kBytes = 16;
  using Bytes = std::array<std::byte, kBytes>;

  Kind kind = Kind::ready;
  std::uint32_t tag = 0;  // Tag::number()
  std::uint32_t sequence = 0;
  std::uint64_t bytes = 0;

  void write(Bytes& out) const {
    store_le(out, 0, static_cast<std::uint32_t>(kind) << kTagBits | tag);
    store_le(out, 4, sequence);
    store_le(out, 8, bytes);
  }

  // Nothing for a header that no rank sends.
  static std::optional<TcpRecord> read(std::span<const std::byte> in) {
    const auto first = load_le<std::uint32_t>(in, 0);
    const auto kind = static_cast<Kind>(first >> kTagBits);
    if (kind != Kind::ready && kind != Kind::data) return std::nullopt;
    return TcpRecord{.kind = kind,
                     .tag = first & ((1u << kTagBits) - 1),
                     .sequence = load_le<std::uint32_t>(in, 4),
                     .bytes = load_le<std::uint64_t>(in, 8)};
  }

 private:
  static constexpr int kTagBits = 24;
};

}  // namespace gradwire
