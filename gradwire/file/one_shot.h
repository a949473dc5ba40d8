// Values to bytes and back in one call. The bytes are those of a .gw file (docs/wire_format.md):
// they carry the spec that decodes them and a checksum. Single-threaded pure functions; programs
// that encode at every step use Codec.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gradwire {

// The seed is that of codecs which round at random. Throws SpecError.
std::vector<std::byte> encode(std::string_view spec, std::span<const float> values,
                              std::uint64_t seed = 0);

// Takes any bytes. Throws FileError, with the offset and the reason, for bytes that encode() cannot
// have made.
std::vector<float> decode(std::span<const std::byte> bytes);

}  // namespace gradwire
