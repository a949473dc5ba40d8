// Files that may be compressed by gzip. Pure functions on bytes, and one that reads a file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "data/refusal.h"

namespace gradwire::data {

bool is_gzip(std::span<const std::byte> bytes);

// What was compressed, which may have at most `bytes_max` bytes; its checksum is verified. Offsets
// are those of the compressed bytes.
Readable<std::vector<std::byte>> inflate_gzip(std::span<const std::byte> bytes,
                                              std::size_t bytes_max);

// A whole file, inflated if it is compressed, whatever its name is. Throws FileError.
std::vector<std::byte> read_plain_or_gzip(const std::filesystem::path& path);

}  // namespace gradwire::data
