#include "gradwire/codec/huffman_code.h"

namespace gradwire::huffman {

std::array<std::uint16_t, 256> bit_codes(const std::uint8_t* lengths) {
  std::array<unsigned, kCodeBitsMax + 1> next{};
  for (int s = 0; s < 256; ++s) ++next[lengths[s]];
  next[0] = 0;
  unsigned code = 0;
  for (unsigned bits = 1; bits <= kCodeBitsMax; ++bits) {
    const unsigned codes = next[bits];
    next[bits] = code;
    code = (code + codes) << 1;
  }
  std::array<std::uint16_t, 256> result{};
  for (int s = 0; s < 256; ++s) {
    if (lengths[s] == 0) continue;
    unsigned reversed = 0;
    unsigned forward = next[lengths[s]]++;
    for (unsigned bit = 0; bit < lengths[s]; ++bit, forward >>= 1) {
      reversed = reversed << 1 | (forward & 1);
    }
    result[static_cast<std::size_t>(s)] = static_cast<std::uint16_t>(reversed);
  }
  return result;
}

}  // namespace gradwire::huffman
