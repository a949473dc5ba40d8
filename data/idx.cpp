#include "data/idx.h"

#include <cstdint>
#include <cstdio>

#include "gradwire/core/check.h"

namespace gradwire::data {
namespace {

constexpr std::size_t kWordBytes = 4;
constexpr std::uint32_t kUnsignedBytes = 8;

std::uint32_t load_big_endian(std::span<const std::byte> bytes, std::size_t offset) {
  std::uint32_t word = 0;
  for (const std::byte byte : bytes.subspan(offset, kWordBytes)) {
    word = word << 8 | std::to_integer<std::uint32_t>(byte);
  }
  return word;
}

std::string hexadecimal(std::uint32_t word) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", word);
  return text;
}

std::string type_name(std::uint32_t type) {
  switch (type) {
    case kUnsignedBytes:
      return "unsigned bytes";
    case 0x09:
      return "signed bytes";
    case 0x0b:
      return "16-bit integers";
    case 0x0c:
      return "32-bit integers";
    case 0x0d:
      return "floats";
    case 0x0e:
      return "doubles";
    default:
      return "";
  }
}

// A magic, and what it stands for if it stands for something.
std::string described(std::uint32_t magic) {
  const std::string type = magic >> 16 == 0 ? type_name(magic >> 8) : "";
  const std::uint32_t dimensions = magic & 0xff;
  if (type.empty()) return hexadecimal(magic);
  return hexadecimal(magic) + " (" + type + ", " + std::to_string(dimensions) +
         (dimensions == 1 ? " dimension)" : " dimensions)");
}

std::string product(const std::vector<std::size_t>& dimensions) {
  std::string text;
  for (const std::size_t dimension : dimensions) {
    text += (text.empty() ? "" : " x ") + std::to_string(dimension);
  }
  return text;
}

// Compares the number of elements to the bytes there are. A product of dimensions can be beyond 64
// bits; one that is beyond the bytes need not be known.
Readable<void> check_size(const std::vector<std::size_t>& dimensions, std::size_t bytes) {
  const std::size_t header_bytes = idx_header_bytes(dimensions.size());
  const std::size_t element_bytes = bytes - header_bytes;
  std::size_t elements = 1;
  for (const std::size_t dimension : dimensions) {
    if (dimension > element_bytes / elements) {
      return Unexpected{Refusal{
          bytes,
          product(dimensions) + " bytes behind the header of " + std::to_string(header_bytes),
          "the end of the file"}};
    }
    elements *= dimension;
  }
  if (elements < element_bytes) {
    return Unexpected{Refusal{header_bytes + elements,
                              "the end of the file, behind " + product(dimensions) + " bytes",
                              end_or_more(element_bytes - elements)}};
  }
  return {};
}

}  // namespace

Readable<IdxView> parse_idx(std::span<const std::byte> bytes, std::size_t dimensions) {
  GW_CHECK(1 <= dimensions && dimensions <= kIdxDimensionsMax);
  const auto expected_magic = static_cast<std::uint32_t>(kUnsignedBytes << 8 | dimensions);
  const std::string magic_text = "the idx magic " + described(expected_magic);
  if (bytes.size() < kWordBytes) {
    return Unexpected{Refusal{
        0, magic_text,
        "a file of " + std::to_string(bytes.size()) + (bytes.size() == 1 ? " byte" : " bytes")}};
  }
  const std::uint32_t magic = load_big_endian(bytes, 0);
  if (magic != expected_magic) return Unexpected{Refusal{0, magic_text, described(magic)}};
  IdxView view;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::size_t at = idx_header_bytes(i);
    const std::string name = "dimension " + std::to_string(i + 1);
    if (bytes.size() - at < kWordBytes) {
      return Unexpected{Refusal{bytes.size(), "all of " + name, "the end of the file"}};
    }
    view.dimensions.push_back(load_big_endian(bytes, at));
    if (view.dimensions.back() == 0) return Unexpected{Refusal{at, name + " to be above 0", "0"}};
  }
  if (const Readable<void> sized = check_size(view.dimensions, bytes.size()); !sized) {
    return Unexpected{sized.error()};
  }
  view.elements = bytes.subspan(idx_header_bytes(dimensions));
  return view;
}

}  // namespace gradwire::data
