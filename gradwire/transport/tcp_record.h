// The records on a TCP connection between two ranks. A record is a header of 16 bytes; a `data`
// header is followed by the bytes of one message.
//
//   tag        0  4  u32: Tag::number()
//   sequence   4  4  u32: which message of its tag, from 0; it wraps around
//   bytes      8  8  u64: kind << 56 | bytes; ready: the room of the receiver; data: the length of
//                    the message
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
  std::uint32_t tag = 0;
  std::uint32_t sequence = 0;
  std::uint64_t bytes = 0;

  void write(Bytes& out) const {
    store_le(out, 0, tag);
    store_le(out, 4, sequence);
    store_le(out, 8, static_cast<std::uint64_t>(kind) << kBytesBits | bytes);
  }

  // Nothing for a header that no rank sends.
  static std::optional<TcpRecord> read(std::span<const std::byte> in) {
    const auto last = load_le<std::uint64_t>(in, 8);
    const auto kind = static_cast<Kind>(last >> kBytesBits);
    if (kind != Kind::ready && kind != Kind::data) return std::nullopt;
    return TcpRecord{.kind = kind,
                     .tag = load_le<std::uint32_t>(in, 0),
                     .sequence = load_le<std::uint32_t>(in, 4),
                     .bytes = last & ((std::uint64_t{1} << kBytesBits) - 1)};
  }

 private:
  static constexpr int kBytesBits = 56;
};

}  // namespace gradwire
