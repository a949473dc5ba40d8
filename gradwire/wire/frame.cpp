#include "gradwire/wire/frame.h"

#define XXH_STATIC_LINKING_ONLY  // for the size of its state
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>  // the same checksum, by the widest vectors that the machine has
#else
#include <xxhash.h>
#endif

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <string>

#include "gradwire/core/bytes.h"
#include "gradwire/core/check.h"
#include "gradwire/core/error.h"

namespace gradwire {
namespace {

constexpr std::array<std::byte, 4> kMagic = {std::byte{'G'}, std::byte{'W'}, std::byte{'F'},
                                             std::byte{'1'}};
constexpr std::uint16_t kPoisonBit = 1 << 0;
constexpr std::uint16_t kRepeatBit = 1 << 1;

// Where each field starts: the end of the one before it.
constexpr std::size_t kMagicAt = 0;
constexpr std::size_t kVersionAt = kMagicAt + kMagic.size();
constexpr std::size_t kFlagsAt = kVersionAt + sizeof(std::uint16_t);
constexpr std::size_t kRunAt = kFlagsAt + sizeof(std::uint16_t);
constexpr std::size_t kStepAt = kRunAt + sizeof(std::uint64_t);
constexpr std::size_t kExchangeAt = kStepAt + sizeof(std::uint64_t);
constexpr std::size_t kSenderAt = kExchangeAt + sizeof(std::uint32_t);
constexpr std::size_t kDirectionAt = kSenderAt + sizeof(std::uint32_t);
constexpr std::size_t kReserved16At = kDirectionAt + sizeof(std::uint16_t);
constexpr std::size_t kReserved32At = kReserved16At + sizeof(std::uint16_t);
constexpr std::size_t kFingerprintAt = kReserved32At + sizeof(std::uint32_t);
constexpr std::size_t kFirstElementAt = kFingerprintAt + sizeof(std::uint64_t);
constexpr std::size_t kElementCountAt = kFirstElementAt + sizeof(std::uint64_t);
constexpr std::size_t kPayloadBytesAt = kElementCountAt + sizeof(std::uint64_t);
constexpr std::size_t kChecksumAt = kPayloadBytesAt + sizeof(std::uint64_t);
static_assert(kFlagsAt == kFrameFlagsAt && kElementCountAt == kFrameElementCountAt);
static_assert(kChecksumAt == 72);
static_assert(kChecksumAt + sizeof(std::uint64_t) == kFrameHeaderBytes);

// The header's checksum is the payload's seed, so one value covers both, wherever each lies.
std::uint64_t frame_checksum(std::span<const std::byte> header,
                             std::span<const std::byte> payload) {
  return checksum(payload, checksum(header.first(kChecksumAt)));
}

DecodeError damaged() { return {"damaged frame: its checksum does not match", kChecksumAt}; }

XXH3_state_t* xxh_state(std::byte* state) {
  return std::launder(reinterpret_cast<XXH3_state_t*>(state));
}
const XXH3_state_t* xxh_state(const std::byte* state) {
  return std::launder(reinterpret_cast<const XXH3_state_t*>(state));
}

bool range_overflows(std::uint64_t first, std::uint64_t count) {
  return count > std::numeric_limits<std::uint64_t>::max() - first;
}

// The fields whose values are fixed, checked before any other is believed.
Decoded<void> check_fixed_fields(std::span<const std::byte> bytes) {
  if (!std::equal(kMagic.begin(), kMagic.end(), bytes.begin() + kMagicAt)) {
    return Unexpected{DecodeError{"no frame: its magic number is missing", kMagicAt}};
  }
  if (load_le<std::uint16_t>(bytes, kVersionAt) != kFrameVersion) {
    return Unexpected{DecodeError{"frame of an unknown version", kVersionAt}};
  }
  if ((load_le<std::uint16_t>(bytes, kFlagsAt) & ~(kPoisonBit | kRepeatBit)) != 0) {
    return Unexpected{DecodeError{"frame with an unknown flag", kFlagsAt}};
  }
  const auto direction = load_le<std::uint16_t>(bytes, kDirectionAt);
  if (direction < static_cast<std::uint16_t>(Direction::up) ||
      direction > static_cast<std::uint16_t>(Direction::hop)) {
    return Unexpected{DecodeError{"frame with an unknown direction", kDirectionAt}};
  }
  if (load_le<std::uint16_t>(bytes, kReserved16At) != 0) {
    return Unexpected{DecodeError{"frame with a reserved field in use", kReserved16At}};
  }
  if (load_le<std::uint32_t>(bytes, kReserved32At) != 0) {
    return Unexpected{DecodeError{"frame with a reserved field in use", kReserved32At}};
  }
  return {};
}

FrameHeader load_header(std::span<const std::byte> bytes) {
  const auto flags = load_le<std::uint16_t>(bytes, kFlagsAt);
  return {
      .run = load_le<std::uint64_t>(bytes, kRunAt),
      .step = load_le<std::uint64_t>(bytes, kStepAt),
      .exchange = load_le<std::uint32_t>(bytes, kExchangeAt),
      .sender = load_le<std::uint32_t>(bytes, kSenderAt),
      .direction = static_cast<Direction>(load_le<std::uint16_t>(bytes, kDirectionAt)),
      .poison = (flags & kPoisonBit) != 0,
      .repeat = (flags & kRepeatBit) != 0,
      .codec_fingerprint = load_le<std::uint64_t>(bytes, kFingerprintAt),
      .first_element = load_le<std::uint64_t>(bytes, kFirstElementAt),
      .element_count = load_le<std::uint64_t>(bytes, kElementCountAt),
  };
}

}  // namespace

const char* name(Direction direction) {
  switch (direction) {
    case Direction::up:
      return "up";
    case Direction::down:
      return "down";
    case Direction::hop:
      return "hop";
  }
  GW_CHECK(false && "a direction that exists");
  return "";
}

void write_frame_header(const FrameHeader& header, std::span<const std::byte> payload,
                        std::span<std::byte> out) {
  write_frame_fields(header, payload.size(), out);
  store_le(out, kChecksumAt, frame_checksum(out, payload));
}

void write_frame_fields(const FrameHeader& header, std::size_t payload_bytes,
                        std::span<std::byte> out) {
  if (out.size() < kFrameHeaderBytes) {
    throw Error("a frame's header needs " + std::to_string(kFrameHeaderBytes) +
                " bytes, and there is room for " + std::to_string(out.size()));
  }
  if (header.repeat && payload_bytes > 0) throw Error("a frame that repeats has no payload");
  if (range_overflows(header.first_element, header.element_count)) {
    throw Error("a frame cannot be about " + std::to_string(header.element_count) +
                " elements from element " + std::to_string(header.first_element));
  }
  const int flags = (header.poison ? kPoisonBit : 0) | (header.repeat ? kRepeatBit : 0);
  std::copy(kMagic.begin(), kMagic.end(), out.begin() + kMagicAt);
  store_le(out, kVersionAt, kFrameVersion);
  store_le(out, kFlagsAt, static_cast<std::uint16_t>(flags));
  store_le(out, kRunAt, header.run);
  store_le(out, kStepAt, header.step);
  store_le(out, kExchangeAt, header.exchange);
  store_le(out, kSenderAt, header.sender);
  store_le(out, kDirectionAt, static_cast<std::uint16_t>(header.direction));
  store_le(out, kReserved16At, std::uint16_t{0});
  store_le(out, kReserved32At, std::uint32_t{0});
  store_le(out, kFingerprintAt, header.codec_fingerprint);
  store_le(out, kFirstElementAt, header.first_element);
  store_le(out, kElementCountAt, header.element_count);
  store_le(out, kPayloadBytesAt, std::uint64_t{payload_bytes});
}

Decoded<FrameFields> parse_frame_fields(std::span<const std::byte> bytes) {
  if (bytes.size() < kFrameHeaderBytes) {
    return Unexpected{DecodeError{"the bytes end within a frame's header", bytes.size()}};
  }
  if (const Decoded<void> fixed = check_fixed_fields(bytes); !fixed) {
    return Unexpected{fixed.error()};
  }
  const FrameHeader header = load_header(bytes);
  if (range_overflows(header.first_element, header.element_count)) {
    return Unexpected{DecodeError{"frame of more elements than can be counted", kElementCountAt}};
  }
  const auto payload_bytes = load_le<std::uint64_t>(bytes, kPayloadBytesAt);
  if (header.repeat && payload_bytes != 0) {
    return Unexpected{DecodeError{"repeat frame with a payload", kPayloadBytesAt}};
  }
  return FrameFields{header, payload_bytes};
}

Decoded<Frame> parse_frame(std::span<const std::byte> bytes) {
  const Decoded<FrameFields> fields = parse_frame_fields(bytes);
  if (!fields) return Unexpected{fields.error()};
  if (fields->payload_bytes > bytes.size() - kFrameHeaderBytes) {
    return Unexpected{DecodeError{"the bytes end within a frame's payload", bytes.size()}};
  }
  const std::span<const std::byte> payload =
      bytes.subspan(kFrameHeaderBytes, static_cast<std::size_t>(fields->payload_bytes));
  const auto claimed_checksum = load_le<std::uint64_t>(bytes, kChecksumAt);
  if (claimed_checksum != frame_checksum(bytes, payload)) return Unexpected{damaged()};
  return Frame{fields->header, payload, claimed_checksum};
}

FrameChecksum::FrameChecksum(std::span<const std::byte> header) {
  static_assert(sizeof(XXH3_state_t) == sizeof state_ && alignof(XXH3_state_t) <= 64);
  auto* const state = ::new (state_) XXH3_state_t;
  XXH3_INITSTATE(state);
  XXH3_64bits_reset_withSeed(state, checksum(header.first(kChecksumAt)));
}

void FrameChecksum::add(std::span<const std::byte> payload_part) {
  XXH3_64bits_update(xxh_state(state_), payload_part.data(), payload_part.size());
}

void FrameChecksum::write(std::span<std::byte> header) const {
  store_le(header, kChecksumAt, std::uint64_t{XXH3_64bits_digest(xxh_state(state_))});
}

Decoded<void> FrameChecksum::check(std::span<const std::byte> header) const {
  const std::uint64_t found = XXH3_64bits_digest(xxh_state(state_));
  if (load_le<std::uint64_t>(header, kChecksumAt) != found) return Unexpected{damaged()};
  return {};
}

Decoded<void> verify(const FrameHeader& header, const FrameExpectation& expected) {
  const auto differs = [](const auto& wanted, const auto& given) {
    return wanted && *wanted != given;
  };
  if (differs(expected.run, header.run)) {
    return Unexpected{DecodeError{"frame of another run", kRunAt}};
  }
  if (differs(expected.step, header.step)) {
    return Unexpected{DecodeError{"frame of another step", kStepAt}};
  }
  if (differs(expected.exchange, header.exchange)) {
    return Unexpected{DecodeError{"frame of another exchange", kExchangeAt}};
  }
  if (differs(expected.sender, header.sender)) {
    return Unexpected{DecodeError{"frame of another sender", kSenderAt}};
  }
  if (differs(expected.direction, header.direction)) {
    return Unexpected{DecodeError{"frame of another direction", kDirectionAt}};
  }
  if (differs(expected.codec_fingerprint, header.codec_fingerprint)) {
    return Unexpected{DecodeError{"frame of another codec", kFingerprintAt}};
  }
  if (differs(expected.first_element, header.first_element)) {
    return Unexpected{DecodeError{"frame that starts at another element", kFirstElementAt}};
  }
  if (differs(expected.element_count, header.element_count)) {
    return Unexpected{DecodeError{"frame of another number of elements", kElementCountAt}};
  }
  return {};
}

std::uint64_t fingerprint(std::string_view spec) {
  return checksum(std::as_bytes(std::span(spec)));
}

std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace gradwire
