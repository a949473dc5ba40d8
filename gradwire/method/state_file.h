// Method states on disk: one file a rank, in a directory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "gradwire/method/method.h"

namespace gradwire {

// One state as a file, which appears whole or not at all. Throw FileError.
void write_state(const std::filesystem::path& path, const MethodState& state);
MethodState read_state(const std::filesystem::path& path);

// "method-rank3-of-8.gws"
std::string state_file_name(std::size_t rank, std::size_t ranks);

// Throws FileError.
void save_method(const Method& method, const std::filesystem::path& directory, std::size_t rank,
                 std::size_t ranks);

// Loads what save_method wrote in the same directory, by whatever number of ranks: with another
// number, or where what a rank owns was cut differently, all old ranks' files are read and dealt
// out anew. Throws FileError that names every old rank's file that is missing.
void load_method(Method& method, const std::filesystem::path& directory, std::size_t rank,
                 std::size_t ranks);

}  // namespace gradwire
