// Encodes values, or decodes bytes, in one call. The bytes are those of a .gw file
// (docs/wire_format.md): they contain the spec and a checksum. Single-threaded pure functions.
// Programs that encode at every step should use Codec.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gradwire {

// `seed` is for codecs that use random numbers. Throws SpecError.
std::vector<std::byte> encode(std::string_view spec, std::span<const float> values,
                              std::uint64_t seed = 0);

// Accepts any bytes. Throws FileError with the offset and the reason if they are not the result of
// encode().
std::vector<float> decode(std::span<const std::byte> bytes);

}  // namespace gradwire
