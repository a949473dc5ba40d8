// The bytes of a .gw file: a header with the codec's spec and an optional shape, then frames that
// cover the tensor in order. Pure functions on bytes; gw_file.h reads and writes files.
// docs/wire_format.md specifies the layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "gradwire/core/expected.h"
#include "gradwire/wire/frame.h"

namespace gradwire {

inline constexpr std::uint16_t kGwVersion = 1;

// Limits of a file. The number of elements needs a limit of its own: a small sparse payload may
// have many elements.
inline constexpr std::uint64_t kGwElementsMax = std::uint64_t{1} << 40;
inline constexpr std::uint64_t kGwFrameElementsMax = std::uint64_t{1} << 24;

struct GwHeader {
  std::string_view spec;
  std::optional<std::vector<std::uint64_t>> shape = {};
  std::uint64_t element_count = 0;
  std::uint64_t frame_count = 0;
  std::uint64_t seed = 0;  // of the random numbers that encoding used; decoding needs none
};

std::vector<std::byte> gw_header_bytes(const GwHeader& header);

// Frame i of a file has exchange i, direction up, and 0 for run, step and sender.
struct GwFrame {
  std::size_t byte_offset = 0;  // of the frame's header in the file
  Frame frame;
};

// The contents of a file. The spec and the payloads point into the file's bytes. The frames cover
// all elements in order. Payloads are not decoded yet, so the codec may still refuse one.
struct GwView {
  GwHeader header;
  std::size_t header_bytes = 0;
  std::vector<GwFrame> frames;
};

// Accepts any bytes, and returns a view or a reason. Allocates in proportion to the number of
// bytes, whatever sizes they claim.
Decoded<GwView> parse_gw(std::span<const std::byte> bytes);

}  // namespace gradwire
