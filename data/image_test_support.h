// For tests: small files of images.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gradwire/core/check.h"

namespace gradwire::data {

// An idx file of unsigned bytes.
inline std::string idx_file(const std::vector<std::uint32_t>& dimensions,
                            std::string_view elements) {
  std::string file = {'\0', '\0', '\x08', static_cast<char>(dimensions.size())};
  for (const std::uint32_t dimension : dimensions) {
    for (const int shift : {24, 16, 8, 0}) file.push_back(static_cast<char>(dimension >> shift));
  }
  return file.append(elements);
}

// Bytes that differ from neighbour to neighbour.
inline std::string pixels(std::size_t count, std::size_t first = 0) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) {
    bytes.push_back(static_cast<char>((first + i) * (first + i) / 7 + i));
  }
  return bytes;
}

inline std::string cifar_record(std::uint8_t label, std::size_t first = 0) {
  return static_cast<char>(label) + pixels(3072, first);
}

inline void write_gzip(const std::filesystem::path& path, std::string_view text) {
  const gzFile file = gzopen(path.c_str(), "wb");
  GW_CHECK(file != nullptr);
  GW_CHECK(gzwrite(file, text.data(), static_cast<unsigned>(text.size())) ==
           static_cast<int>(text.size()));
  GW_CHECK(gzclose(file) == Z_OK);
}

}  // namespace gradwire::data
