// Reads a whole file into memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

namespace gradwire {

// Regular files, and whatever else can be read to an end. Throws FileError.
std::vector<std::byte> read_file(const std::filesystem::path& path);

}  // namespace gradwire
