// Makes the checksums of altered bytes right again. Without that, all that a fuzzer makes would be
// refused for its checksum, and nothing behind that check would be tested.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gradwire::fuzz {

// Of the frame at the front of the bytes, if that many are there. Returns its length.
std::optional<std::size_t> repair_frame(std::span<std::byte> bytes);

// The same with another codec fingerprint.
std::optional<std::size_t> repair_frame(std::span<std::byte> bytes,
                                        std::uint64_t codec_fingerprint);

// Of the header of a .gw file and of its frames, as far as they are there. The frames also get the
// fingerprint of the file's spec.
void repair_gw(std::span<std::byte> bytes);

}  // namespace gradwire::fuzz
