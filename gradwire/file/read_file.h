// Reads a whole file into memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

namespace gradwire {

// Accepts regular files, pipes and other readable files. Throws FileError.
std::vector<std::byte> read_file(const std::filesystem::path& path);

}  // namespace gradwire
