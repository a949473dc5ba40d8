// The frame: a payload with a header that describes it, and a checksum over both. Pure functions on
// bytes that do not allocate. docs/wire_format.md is the specification.
//
// Bytes from outside are parsed in two steps. parse_frame refuses damaged frames and other
// bytes; verify refuses a valid frame that is not the expected one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "gradwire/core/expected.h"

namespace gradwire {

inline constexpr std::size_t kFrameHeaderBytes = 80;
inline constexpr std::uint16_t kFrameVersion = 1;

// Offsets of header fields, for the errors of readers with further rules about them.
inline constexpr std::size_t kFrameFlagsAt = 6;
inline constexpr std::size_t kFrameElementCountAt = 56;

enum class Direction : std::uint16_t {
  up = 1,    // from a worker to the owner of a chunk
  down = 2,  // from the owner to the workers
  hop = 3,   // from neighbour to neighbour on a ring
};

// "up", "down" or "hop".
const char* name(Direction direction);

struct FrameHeader {
  std::uint64_t run = 0;
  std::uint64_t step = 0;
  std::uint32_t exchange = 0;
  std::uint32_t sender = 0;
  Direction direction = Direction::up;
  bool poison = false;  // the sender met a NaN or an infinity: no rank may use the results
  bool repeat = false;  // the sender's last message counts again; there is no payload
  std::uint64_t codec_fingerprint = 0;
  std::uint64_t first_element = 0;
  std::uint64_t element_count = 0;

  bool operator==(const FrameHeader&) const = default;
};

struct Frame {
  FrameHeader header;
  std::span<const std::byte> payload;  // within the bytes that were parsed
  std::uint64_t checksum = 0;

  std::size_t bytes() const { return kFrameHeaderBytes + payload.size(); }
};

// Writes the header of a frame with this payload to the first kFrameHeaderBytes of `out`. On the
// wire the payload follows the header; in memory it may be anywhere.
void write_frame_header(const FrameHeader& header, std::span<const std::byte> payload,
                        std::span<std::byte> out);

// The frame at the front of `bytes`; others may follow it.
Decoded<Frame> parse_frame(std::span<const std::byte> bytes);

// --- Frames in several parts ---
//
// For payloads that are made, or are looked at, part by part while each part is in the cache: first
// the fields of the header, then a checksum that takes the parts in their order.

// Writes the header, apart from its checksum.
void write_frame_fields(const FrameHeader& header, std::size_t payload_bytes,
                        std::span<std::byte> out);

struct FrameFields {
  FrameHeader header;
  std::uint64_t payload_bytes = 0;
};
// Refuses what parse_frame refuses, apart from a payload that is missing or damaged.
Decoded<FrameFields> parse_frame_fields(std::span<const std::byte> bytes);

class FrameChecksum {
 public:
  // The fields of the header are there.
  explicit FrameChecksum(std::span<const std::byte> header);

  void add(std::span<const std::byte> payload_part);

  // After the last part.
  void write(std::span<std::byte> header) const;
  Decoded<void> check(std::span<const std::byte> header) const;

 private:
  static constexpr std::size_t kStateBytes = 576;
  alignas(64) std::byte state_[kStateBytes];
};

// The header fields that a receiver expects. Fields that are not set are not compared.
struct FrameExpectation {
  std::optional<std::uint64_t> run = {};
  std::optional<std::uint64_t> step = {};
  std::optional<std::uint32_t> exchange = {};
  std::optional<std::uint32_t> sender = {};
  std::optional<Direction> direction = {};
  std::optional<std::uint64_t> codec_fingerprint = {};
  std::optional<std::uint64_t> first_element = {};
  std::optional<std::uint64_t> element_count = {};
};

// The error names the first field that differs, and has its offset in the header.
Decoded<void> verify(const FrameHeader& header, const FrameExpectation& expected);

// The number of a codec in headers: the checksum of its canonical spec.
std::uint64_t fingerprint(std::string_view spec);

// XXH3, 64 bits: the checksum of all formats of gradwire.
std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed = 0);

}  // namespace gradwire
