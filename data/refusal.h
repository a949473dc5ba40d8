// Refusal: why the bytes of a dataset were refused. It is made once a file, so that other than a
// DecodeError it can say what was found. Value type.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "gradwire/core/expected.h"

namespace gradwire::data {

struct Refusal {
  std::size_t byte_offset = 0;
  std::string expected = {};
  std::string found = {};

  // "offset 8: expected 60000 labels, found the end of the file"
  std::string text() const;
};

template <class T>
using Readable = Expected<T, Refusal>;

// "the end of the file", or how many bytes are left.
std::string end_or_more(std::size_t bytes_left);

// Throws FileError with the file's name and the refusal.
[[noreturn]] void refuse_file(const std::filesystem::path& path, const Refusal& refusal);

}  // namespace gradwire::data
