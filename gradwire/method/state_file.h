// The states of a method on disk: one file per rank, in a directory.
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

// Loads the files that save_method wrote in the same directory, for any number of ranks. If that
// number or the ranges of the owners have changed, it reads the files of all old ranks and
// redistributes their memories. Throws FileError that names all missing files.
void load_method(Method& method, const std::filesystem::path& directory, std::size_t rank,
                 std::size_t ranks);

}  // namespace gradwire
