// Packing of one-byte symbols into fewer bits, and back, a block at a time.
//
// A symbol of b bits is cut into fields of 4, 2 and 1 bits (those that add up to b), lowest bits
// first. Fields of the same width are stored together, in one part. With n symbols, a part of w-bit
// fields has m = ceil(n w / 8) bytes. For w = 4 and 2, byte i holds the fields of symbols i, i + m,
// i + 2m,
// ... from its low bits up; for w = 1, byte i holds symbols 8i to 8i + 7. A byte holds five trits:
// byte i is t(i) + 3 t(i+m) + 9 t(i+2m) + 27 t(i+3m) + 81 t(i+4m), m = ceil(n / 5). With
// this order, machines can pack whole vectors of any width.
#pragma once

#include "gradwire/kernel/block.h"

namespace gradwire::kernel {

constexpr std::size_t packed_bytes(std::size_t n, unsigned bits) {
  std::size_t bytes = 0;
  if (bits & 8) bytes += n;
  if (bits & 4) bytes += (n + 1) / 2;
  if (bits & 2) bytes += (n + 3) / 4;
  if (bits & 1) bytes += (n + 7) / 8;
  return bytes;
}

constexpr std::size_t packed_trit_bytes(std::size_t n) { return (n + 4) / 5; }

// The n symbols use `bits` bits each, 1 to 7; the rest of the block is overwritten.
void pack_bits(SymbolBlock symbols, std::size_t n, unsigned bits, SymbolBlock packed);
void unpack_bits(ConstSymbolBlock packed, std::size_t n, unsigned bits, SymbolBlock symbols);

// Symbols 0, 1 and 2. Bytes above 242 are unpacked as if their high trits were 2.
void pack_trits(SymbolBlock symbols, std::size_t n, SymbolBlock packed);
void unpack_trits(ConstSymbolBlock packed, std::size_t n, SymbolBlock symbols);

namespace scalar {
void pack_bits(SymbolBlock symbols, std::size_t n, unsigned bits, SymbolBlock packed);
void unpack_bits(ConstSymbolBlock packed, std::size_t n, unsigned bits, SymbolBlock symbols);
void pack_trits(SymbolBlock symbols, std::size_t n, SymbolBlock packed);
void unpack_trits(ConstSymbolBlock packed, std::size_t n, SymbolBlock symbols);
}  // namespace scalar

}  // namespace gradwire::kernel
