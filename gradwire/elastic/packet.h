// Packets: what members of an elastic run send each other on a connection, and their bytes. Value
// types and pure functions. docs/wire_format.md has the layout.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "gradwire/core/expected.h"
#include "gradwire/membership/message.h"
#include "gradwire/membership/view.h"

namespace gradwire::elastic {

using Bytes = std::vector<std::byte>;

// On the wire, a packet follows its length, a 32-bit number.
inline constexpr std::size_t kLengthBytes = 4;
inline constexpr std::size_t kPacketBytesMax = std::size_t{1} << 30;

// The first packet on a connection: who is at this end.
struct Introduce {
  membership::Member member;
  bool operator==(const Introduce&) const = default;
};

// What is the run? Allowed before an introduction.
struct Describe {
  bool operator==(const Describe&) const = default;
};
struct Description {
  Bytes bytes;
  bool operator==(const Description&) const = default;
};

struct MessagePacket {
  membership::Message message;
  bool operator==(const MessagePacket&) const = default;
};

// A message of the view's transport.
struct ViewData {
  std::uint64_t view = 0;
  std::uint32_t tag = 0;
  Bytes bytes;
  bool operator==(const ViewData&) const = default;
};

// Give me the result frames of this rank of view `world`.
struct FetchResult {
  std::uint64_t world = 0;
  std::uint64_t step = 0;
  std::uint32_t rank = 0;
  bool operator==(const FetchResult&) const = default;
};
struct Result {
  std::uint64_t world = 0;
  std::uint64_t step = 0;
  std::uint32_t rank = 0;
  Bytes frames;  // one behind the other
  bool operator==(const Result&) const = default;
};

// A newcomer wants the model: after any step, or after the one that it fetches already.
struct AskModel {
  bool is_any = true;
  std::uint64_t step = 0;
  bool operator==(const AskModel&) const = default;
};
// A member to the others: a newcomer is here; keep the state after this step for it.
struct KeepModel {
  std::uint64_t step = 0;
  bool operator==(const KeepModel&) const = default;
};

using Hash = std::array<std::uint64_t, 2>;  // XXH3, 128 bits

// The state after a step, as chunks of equal length; the last one may be shorter.
struct Manifest {
  std::uint64_t step = 0;
  std::uint64_t bytes = 0;
  std::uint32_t chunk_bytes = 0;
  std::vector<Hash> hashes;
  bool operator==(const Manifest&) const = default;
};
struct AskChunk {
  std::uint64_t step = 0;
  std::uint32_t chunk = 0;
  bool operator==(const AskChunk&) const = default;
};
struct Chunk {
  std::uint64_t step = 0;
  std::uint32_t chunk = 0;
  Bytes bytes;
  bool operator==(const Chunk&) const = default;
};

// From this step on, give me all updates, as they become certain.
struct AskUpdates {
  std::uint64_t step = 0;
  bool operator==(const AskUpdates&) const = default;
};
// A committed step: who exchanged it, and its result frames, by rank.
struct Update {
  std::uint64_t step = 0;
  bool is_average = false;
  membership::View world;
  std::vector<Bytes> results;
  bool operator==(const Update&) const = default;
};
// The state or the updates that you asked for are not here any more: begin again.
struct Forgotten {
  std::uint64_t step = 0;
  bool operator==(const Forgotten&) const = default;
};

using Packet =
    std::variant<Introduce, Describe, Description, MessagePacket, ViewData, FetchResult, Result,
                 AskModel, KeepModel, Manifest, AskChunk, Chunk, AskUpdates, Update, Forgotten>;

// With the length in front.
Bytes to_bytes(const Packet& packet);
// The same for data that is not copied into a packet first.
Bytes view_data_bytes(std::uint64_t view, std::uint32_t tag, std::span<const std::byte> bytes);

// Without the length. Any bytes are a packet, whose bytes are exactly these, or are refused.
Decoded<Packet> parse_packet(std::span<const std::byte> bytes);

Hash hash_of(std::span<const std::byte> bytes);

}  // namespace gradwire::elastic
