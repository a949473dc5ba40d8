// The text of a checksum in records and file names: 16 hexadecimal digits. Header only.
#pragma once

#include <cstdint>
#include <string>

namespace gradwire::record {

inline std::string hash_text(std::uint64_t hash) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = text.size(); i-- > 0; hash >>= 4) text[i] = kDigits[hash & 15];
  return text;
}

}  // namespace gradwire::record
