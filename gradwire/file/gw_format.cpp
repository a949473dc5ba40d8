#include "gradwire/file/gw_format.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "gradwire/codec/spec.h"
#include "gradwire/core/bytes.h"
#include "gradwire/core/error.h"
#include "gradwire/file/tensor.h"

namespace gradwire {
namespace {

// As PNG's: the high bit, both line ends and the end-of-file character each reveal one kind of
// copying a file as if it were text.
constexpr std::array<std::byte, 8> kMagic = {std::byte{0x89}, std::byte{'G'},  std::byte{'W'},
                                             std::byte{'F'},  std::byte{'\r'}, std::byte{'\n'},
                                             std::byte{0x1a}, std::byte{'\n'}};
constexpr std::uint16_t kShapeBit = 1 << 0;

// Where each field of the header's fixed part starts: the end of the one before it. The spec, the
// shape and the checksum follow.
constexpr std::size_t kMagicAt = 0;
constexpr std::size_t kVersionAt = kMagicAt + kMagic.size();
constexpr std::size_t kFlagsAt = kVersionAt + sizeof(std::uint16_t);
constexpr std::size_t kSpecBytesAt = kFlagsAt + sizeof(std::uint16_t);
constexpr std::size_t kDimensionsAt = kSpecBytesAt + sizeof(std::uint32_t);
constexpr std::size_t kReservedAt = kDimensionsAt + sizeof(std::uint32_t);
constexpr std::size_t kElementCountAt = kReservedAt + sizeof(std::uint32_t);
constexpr std::size_t kFrameCountAt = kElementCountAt + sizeof(std::uint64_t);
constexpr std::size_t kSeedAt = kFrameCountAt + sizeof(std::uint64_t);
constexpr std::size_t kSpecAt = kSeedAt + sizeof(std::uint64_t);
static_assert(kSpecAt == 48);

// Frames are numbered by their 32-bit exchange.
constexpr std::uint64_t kFrameCountMax = std::numeric_limits<std::uint32_t>::max();

FrameExpectation frame_expectation(std::uint64_t codec_fingerprint, std::size_t index,
                                   std::uint64_t first_element) {
  return {.run = 0,
          .step = 0,
          .exchange = static_cast<std::uint32_t>(index),
          .sender = 0,
          .direction = Direction::up,
          .codec_fingerprint = codec_fingerprint,
          .first_element = first_element};
}

// The header's length, checksum included, once enough of it is known to be sound.
Decoded<std::size_t> check_header(std::span<const std::byte> bytes) {
  const std::span<const std::byte> start = bytes.first(std::min(bytes.size(), kMagic.size()));
  if (!std::equal(start.begin(), start.end(), kMagic.begin())) {
    return Unexpected{
        DecodeError{"this is not a .gw file, or it was transferred as text", kMagicAt}};
  }
  const DecodeError ends_early = {"the file ends within its header", bytes.size()};
  if (bytes.size() < kSpecAt) return Unexpected{ends_early};
  if (load_le<std::uint16_t>(bytes, kVersionAt) != kGwVersion) {
    return Unexpected{DecodeError{"file of an unknown version", kVersionAt}};
  }
  const std::size_t spec_bytes = load_le<std::uint32_t>(bytes, kSpecBytesAt);
  if (spec_bytes > kSpecBytesMax) {
    return Unexpected{DecodeError{"file with too long a spec", kSpecBytesAt}};
  }
  const std::size_t dimensions = load_le<std::uint32_t>(bytes, kDimensionsAt);
  if (dimensions > kTensorDimensionsMax) {
    return Unexpected{DecodeError{"file with too many dimensions", kDimensionsAt}};
  }
  const std::size_t checksum_at = kSpecAt + spec_bytes + dimensions * sizeof(std::uint64_t);
  if (bytes.size() < checksum_at + sizeof(std::uint64_t)) return Unexpected{ends_early};
  if (load_le<std::uint64_t>(bytes, checksum_at) != checksum(bytes.first(checksum_at))) {
    return Unexpected{DecodeError{"damaged file header: its checksum does not match", checksum_at}};
  }
  return checksum_at + sizeof(std::uint64_t);
}

// What an undamaged header says, if it makes sense.
Decoded<GwHeader> load_header(std::span<const std::byte> bytes) {
  const auto flags = load_le<std::uint16_t>(bytes, kFlagsAt);
  if ((flags & ~kShapeBit) != 0) {
    return Unexpected{DecodeError{"file with an unknown flag", kFlagsAt}};
  }
  if (load_le<std::uint32_t>(bytes, kReservedAt) != 0) {
    return Unexpected{DecodeError{"file with a reserved field in use", kReservedAt}};
  }
  const std::size_t spec_bytes = load_le<std::uint32_t>(bytes, kSpecBytesAt);
  const std::span<const std::byte> spec = bytes.subspan(kSpecAt, spec_bytes);
  GwHeader header{.spec = {reinterpret_cast<const char*>(spec.data()), spec.size()},
                  .shape = {},
                  .element_count = load_le<std::uint64_t>(bytes, kElementCountAt),
                  .frame_count = load_le<std::uint64_t>(bytes, kFrameCountAt),
                  .seed = load_le<std::uint64_t>(bytes, kSeedAt)};
  if (header.element_count > kGwElementsMax) {
    return Unexpected{DecodeError{"file of too many elements", kElementCountAt}};
  }
  if (header.frame_count > kFrameCountMax) {
    return Unexpected{DecodeError{"file of too many frames", kFrameCountAt}};
  }
  const std::size_t dimensions = load_le<std::uint32_t>(bytes, kDimensionsAt);
  if ((flags & kShapeBit) == 0) {
    if (dimensions != 0) return Unexpected{DecodeError{"file with half a shape", kDimensionsAt}};
    return header;
  }
  const std::size_t shape_at = kSpecAt + spec_bytes;
  header.shape.emplace(dimensions);
  for (std::size_t i = 0; i < dimensions; ++i) {
    (*header.shape)[i] = load_le<std::uint64_t>(bytes, shape_at + i * sizeof(std::uint64_t));
  }
  if (shape_elements(*header.shape) != header.element_count) {
    return Unexpected{DecodeError{"file whose shape is not that of its elements", shape_at}};
  }
  return header;
}

// The frame at `offset`, which must be the one expected and have no more elements than are left.
Decoded<Frame> parse_next_frame(std::span<const std::byte> bytes, std::size_t offset,
                                const FrameExpectation& expectation, std::uint64_t elements_left) {
  const Decoded<Frame> frame = parse_frame(bytes.subspan(offset));
  if (!frame) {
    return Unexpected{DecodeError{frame.error().what, offset + frame.error().byte_offset}};
  }
  const FrameHeader& header = frame->header;
  if (const Decoded<void> verified = verify(header, expectation); !verified) {
    return Unexpected{DecodeError{verified.error().what, offset + verified.error().byte_offset}};
  }
  if (header.repeat) {
    return Unexpected{DecodeError{"repeat frame in a file", offset + kFrameFlagsAt}};
  }
  const std::size_t element_count_at = offset + kFrameElementCountAt;
  if (header.element_count == 0) {
    return Unexpected{DecodeError{"frame of no elements", element_count_at}};
  }
  if (header.element_count > std::min(elements_left, kGwFrameElementsMax)) {
    return Unexpected{DecodeError{"frame of too many elements", element_count_at}};
  }
  return frame;
}

}  // namespace

std::vector<std::byte> gw_header_bytes(const GwHeader& header) {
  const std::vector<std::uint64_t> shape = header.shape.value_or(std::vector<std::uint64_t>{});
  const auto check = [](bool holds, const char* what) {
    if (!holds) throw Error(std::string(".gw: a header cannot be written: ") + what);
  };
  check(header.spec.size() <= kSpecBytesMax, "the spec is too long");
  check(shape.size() <= kTensorDimensionsMax, "the shape has too many dimensions");
  check(!header.shape || shape_elements(shape) == header.element_count,
        "the shape is of another number of elements");
  check(header.element_count <= kGwElementsMax, "the tensor has too many elements");
  check(header.frame_count <= kFrameCountMax, "there are too many frames");
  const std::size_t shape_at = kSpecAt + header.spec.size();
  const std::size_t checksum_at = shape_at + shape.size() * sizeof(std::uint64_t);

  std::vector<std::byte> bytes(checksum_at + sizeof(std::uint64_t));
  const std::span<std::byte> out(bytes);
  std::copy(kMagic.begin(), kMagic.end(), out.begin() + kMagicAt);
  store_le(out, kVersionAt, kGwVersion);
  store_le(out, kFlagsAt, header.shape ? kShapeBit : std::uint16_t{0});
  store_le(out, kSpecBytesAt, static_cast<std::uint32_t>(header.spec.size()));
  store_le(out, kDimensionsAt, static_cast<std::uint32_t>(shape.size()));
  store_le(out, kReservedAt, std::uint32_t{0});
  store_le(out, kElementCountAt, header.element_count);
  store_le(out, kFrameCountAt, header.frame_count);
  store_le(out, kSeedAt, header.seed);
  const std::span<const std::byte> spec = std::as_bytes(std::span(header.spec));
  std::copy(spec.begin(), spec.end(), out.begin() + kSpecAt);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    store_le(out, shape_at + i * sizeof(std::uint64_t), shape[i]);
  }
  store_le(out, checksum_at, checksum(out.first(checksum_at)));
  return bytes;
}

Decoded<GwView> parse_gw(std::span<const std::byte> bytes) {
  const Decoded<std::size_t> header_bytes = check_header(bytes);
  if (!header_bytes) return Unexpected{header_bytes.error()};
  Decoded<GwHeader> header = load_header(bytes);
  if (!header) return Unexpected{header.error()};

  GwView view{.header = std::move(*header), .header_bytes = *header_bytes, .frames = {}};
  const std::uint64_t element_count = view.header.element_count;
  const std::uint64_t frame_count = view.header.frame_count;
  const std::uint64_t codec_fingerprint = fingerprint(view.header.spec);
  std::size_t offset = view.header_bytes;
  std::uint64_t elements = 0;
  view.frames.reserve(std::min(frame_count, (bytes.size() - offset) / kFrameHeaderBytes));
  while (view.frames.size() < frame_count) {
    const FrameExpectation expectation =
        frame_expectation(codec_fingerprint, view.frames.size(), elements);
    const Decoded<Frame> frame =
        parse_next_frame(bytes, offset, expectation, element_count - elements);
    if (!frame) return Unexpected{frame.error()};
    view.frames.push_back({offset, *frame});
    elements += frame->header.element_count;
    offset += frame->bytes();
  }
  if (elements != element_count) {
    return Unexpected{DecodeError{"file whose frames do not cover its elements", offset}};
  }
  if (offset != bytes.size()) {
    return Unexpected{DecodeError{"more bytes behind the last frame", offset}};
  }
  return view;
}

}  // namespace gradwire
