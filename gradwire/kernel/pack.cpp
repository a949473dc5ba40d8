#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gradwire/kernel/pack.cpp"
#include "gradwire/kernel/pack.h"

#include <hwy/foreach_target.h>

#include <algorithm>
#include <cstring>

#include "gradwire/core/check.h"
#include "gradwire/kernel/simd-inl.h"

#ifndef GRADWIRE_KERNEL_PACK_ONCE
#define GRADWIRE_KERNEL_PACK_ONCE
namespace gradwire::kernel {

// One field of the symbols and its part of the packed bytes.
struct Field {
  unsigned width;      // 4, 2 or 1
  unsigned shift;      // where the field starts in a symbol
  std::size_t offset;  // where the part starts in the packed bytes
  std::size_t bytes;   // of the part
};

template <class Body>
void for_fields(std::size_t n, unsigned bits, const Body& body) {
  unsigned shift = 0;
  std::size_t offset = 0;
  for (const unsigned width : {4u, 2u, 1u}) {
    if ((bits & width) == 0) continue;
    const std::size_t bytes = packed_bytes(n, width);
    body(Field{width, shift, offset, bytes});
    shift += width;
    offset += bytes;
  }
}

namespace scalar {
void pack_field(ConstSymbolBlock symbols, std::size_t n, Field field, SymbolBlock packed);
void unpack_field(ConstSymbolBlock packed, std::size_t n, Field field, SymbolBlock symbols);
}  // namespace scalar

}  // namespace gradwire::kernel
#endif

HWY_BEFORE_NAMESPACE();
namespace gradwire::kernel::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
using scalar::pack_bits;
using scalar::pack_trits;
using scalar::unpack_bits;
using scalar::unpack_trits;
#else

// Calls body(i) so that vectors at i cover 0 to count. The last one may overlap the one before:
// every body computes the same bytes again. False if there is not even one vector.
template <class Body>
HWY_INLINE bool for_byte_vectors(std::size_t count, const Body& body) {
  if (count < kGroup) return false;
  std::size_t i = 0;
  for (; i + kGroup <= count; i += kGroup) body(i);
  if (i < count) body(count - kGroup);
  return true;
}

template <unsigned kWidth>
bool pack_field(const std::uint8_t* symbols, Field field, std::uint8_t* packed) {
  const U8 d;
  const VB mask = hn::Set(d, (1u << kWidth) - 1);
  return for_byte_vectors(field.bytes, [&](std::size_t i) HWY_ATTR {
    VB packed_fields = hn::Zero(d);
    for (unsigned k = 8 / kWidth; k-- > 0;) {
      const VB symbol = hn::LoadU(d, symbols + k * field.bytes + i);
      const VB bits = hn::And(hn::ShiftRightSame(symbol, static_cast<int>(field.shift)), mask);
      packed_fields = hn::Or(hn::ShiftLeft<kWidth>(packed_fields), bits);
    }
    hn::StoreU(packed_fields, d, packed + field.offset + i);
  });
}

template <unsigned kWidth>
bool unpack_field(const std::uint8_t* packed, Field field, std::uint8_t* symbols) {
  const U8 d;
  const VB mask = hn::Set(d, (1u << kWidth) - 1);
  return for_byte_vectors(field.bytes, [&](std::size_t i) HWY_ATTR {
    VB fields = hn::LoadU(d, packed + field.offset + i);
    for (unsigned k = 0; k < 8 / kWidth; ++k) {
      std::uint8_t* symbol = symbols + k * field.bytes + i;
      VB bits = hn::And(fields, mask);
      fields = hn::ShiftRight<kWidth>(fields);
      if (field.shift != 0) {
        bits = hn::Or(hn::ShiftLeftSame(bits, static_cast<int>(field.shift)), hn::LoadU(d, symbol));
      }
      hn::StoreU(bits, d, symbol);
    }
  });
}

// Single bits lie in the order of the symbols, as masks do.
bool pack_single_bits(const std::uint8_t* symbols, std::size_t n, Field field,
                      std::uint8_t* packed) {
  if (n % kGroup != 0) return false;
  const U8 d;
  const VB bit = hn::Set(d, static_cast<std::uint8_t>(1u << field.shift));
  for (std::size_t i = 0; i < n; i += kGroup) {
    hn::StoreMaskBits(d, hn::TestBit(hn::LoadU(d, symbols + i), bit),
                      packed + field.offset + i / 8);
  }
  return true;
}

bool unpack_single_bits(const std::uint8_t* packed, std::size_t n, Field field,
                        std::uint8_t* symbols) {
  if (n % kGroup != 0) return false;
  const U8 d;
  const VB bit = hn::Set(d, static_cast<std::uint8_t>(1u << field.shift));
  for (std::size_t i = 0; i < n; i += kGroup) {
    std::uint8_t bits[8] = {};
    std::memcpy(bits, packed + field.offset + i / 8, kGroup / 8);
    const VB value = hn::IfThenElseZero(hn::LoadMaskBits(d, bits), bit);
    const VB below = field.shift == 0 ? hn::Zero(d) : hn::LoadU(d, symbols + i);
    hn::StoreU(hn::Or(value, below), d, symbols + i);
  }
  return true;
}

void pack_bits(SymbolBlock symbols, std::size_t n, unsigned bits, SymbolBlock packed) {
  std::memset(symbols.data() + n, 0, 8);
  for_fields(n, bits, [&](Field field) HWY_ATTR {
    const bool done = field.width == 4 ? pack_field<4>(symbols.data(), field, packed.data())
                      : field.width == 2
                          ? pack_field<2>(symbols.data(), field, packed.data())
                          : pack_single_bits(symbols.data(), n, field, packed.data());
    if (!done) scalar::pack_field(symbols, n, field, packed);
  });
}

void unpack_bits(ConstSymbolBlock packed, std::size_t n, unsigned bits, SymbolBlock symbols) {
  for_fields(n, bits, [&](Field field) HWY_ATTR {
    const bool done = field.width == 4 ? unpack_field<4>(packed.data(), field, symbols.data())
                      : field.width == 2
                          ? unpack_field<2>(packed.data(), field, symbols.data())
                          : unpack_single_bits(packed.data(), n, field, symbols.data());
    if (!done) scalar::unpack_field(packed, n, field, symbols);
  });
}

void pack_trits(SymbolBlock symbols, std::size_t n, SymbolBlock packed) {
  const U8 d;
  const std::size_t bytes = packed_trit_bytes(n);
  std::memset(symbols.data() + n, 0, 5);
  const bool done = for_byte_vectors(bytes, [&](std::size_t i) HWY_ATTR {
    VB sum = hn::LoadU(d, symbols.data() + 4 * bytes + i);
    for (std::size_t k = 4; k-- > 0;) {
      const VB thrice = hn::Add(hn::Add(sum, sum), sum);
      sum = hn::Add(thrice, hn::LoadU(d, symbols.data() + k * bytes + i));
    }
    hn::StoreU(sum, d, packed.data() + i);
  });
  if (!done) scalar::pack_trits(symbols, n, packed);
}

void unpack_trits(ConstSymbolBlock packed, std::size_t n, SymbolBlock symbols) {
  const U8 d;
  const std::size_t bytes = packed_trit_bytes(n);
  const bool done = for_byte_vectors(bytes, [&](std::size_t i) HWY_ATTR {
    VB rest = hn::LoadU(d, packed.data() + i);
    const VB one = hn::Set(d, 1);
    std::uint8_t power = 81;
    for (std::size_t k = 5; k-- > 0; power /= 3) {
      const VB unit = hn::Set(d, power);
      const auto first = hn::Eq(hn::Max(rest, unit), rest);  // rest >= power
      rest = hn::Sub(rest, hn::IfThenElseZero(first, unit));
      const auto second = hn::Eq(hn::Max(rest, unit), rest);
      const auto twice = hn::And(first, second);
      rest = hn::Sub(rest, hn::IfThenElseZero(twice, unit));
      const VB trit = hn::Add(hn::IfThenElseZero(first, one), hn::IfThenElseZero(twice, one));
      hn::StoreU(trit, d, symbols.data() + k * bytes + i);
    }
  });
  if (!done) scalar::unpack_trits(packed, n, symbols);
}

#endif  // HWY_TARGET

}  // namespace gradwire::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradwire::kernel {

HWY_EXPORT(pack_bits);
HWY_EXPORT(unpack_bits);
HWY_EXPORT(pack_trits);
HWY_EXPORT(unpack_trits);

void pack_bits(SymbolBlock symbols, std::size_t n, unsigned bits, SymbolBlock packed) {
  GW_CHECK(n <= kBlockElements && bits >= 1 && bits <= 7);
  HWY_DYNAMIC_DISPATCH(pack_bits)(symbols, n, bits, packed);
}

void unpack_bits(ConstSymbolBlock packed, std::size_t n, unsigned bits, SymbolBlock symbols) {
  GW_CHECK(n <= kBlockElements && bits >= 1 && bits <= 7);
  HWY_DYNAMIC_DISPATCH(unpack_bits)(packed, n, bits, symbols);
}

void pack_trits(SymbolBlock symbols, std::size_t n, SymbolBlock packed) {
  GW_CHECK(n <= kBlockElements);
  HWY_DYNAMIC_DISPATCH(pack_trits)(symbols, n, packed);
}

void unpack_trits(ConstSymbolBlock packed, std::size_t n, SymbolBlock symbols) {
  GW_CHECK(n <= kBlockElements);
  HWY_DYNAMIC_DISPATCH(unpack_trits)(packed, n, symbols);
}

namespace scalar {
namespace {

// Which byte of its part symbol j's field is in, and at which bit.
struct Place {
  std::size_t byte;
  unsigned bit;
};
Place place_of(std::size_t j, Field field) {
  if (field.width == 1) return {j / 8, static_cast<unsigned>(j % 8)};
  return {j % field.bytes, static_cast<unsigned>(j / field.bytes) * field.width};
}

}  // namespace

void pack_field(ConstSymbolBlock symbols, std::size_t n, Field field, SymbolBlock packed) {
  std::memset(packed.data() + field.offset, 0, field.bytes);
  for (std::size_t j = 0; j < n; ++j) {
    const unsigned bits = symbols[j] >> field.shift & ((1u << field.width) - 1);
    const Place place = place_of(j, field);
    std::uint8_t& byte = packed[field.offset + place.byte];
    byte = static_cast<std::uint8_t>(byte | bits << place.bit);
  }
}

void unpack_field(ConstSymbolBlock packed, std::size_t n, Field field, SymbolBlock symbols) {
  for (std::size_t j = 0; j < n; ++j) {
    const Place place = place_of(j, field);
    const unsigned byte = packed[field.offset + place.byte];
    const unsigned bits = byte >> place.bit & ((1u << field.width) - 1);
    const unsigned below = field.shift == 0 ? 0 : symbols[j];
    symbols[j] = static_cast<std::uint8_t>(below | bits << field.shift);
  }
}

void pack_bits(SymbolBlock symbols, std::size_t n, unsigned bits, SymbolBlock packed) {
  for_fields(n, bits, [&](Field field) { scalar::pack_field(symbols, n, field, packed); });
}

void unpack_bits(ConstSymbolBlock packed, std::size_t n, unsigned bits, SymbolBlock symbols) {
  for_fields(n, bits, [&](Field field) { scalar::unpack_field(packed, n, field, symbols); });
}

void pack_trits(SymbolBlock symbols, std::size_t n, SymbolBlock packed) {
  const std::size_t bytes = packed_trit_bytes(n);
  std::memset(symbols.data() + n, 0, 5);
  for (std::size_t i = 0; i < bytes; ++i) {
    unsigned sum = 0;
    for (std::size_t k = 5; k-- > 0;) sum = 3 * sum + symbols[k * bytes + i];
    packed[i] = static_cast<std::uint8_t>(sum);
  }
}

void unpack_trits(ConstSymbolBlock packed, std::size_t n, SymbolBlock symbols) {
  const std::size_t bytes = packed_trit_bytes(n);
  for (std::size_t i = 0; i < bytes; ++i) {
    unsigned rest = packed[i];
    unsigned power = 81;
    for (std::size_t k = 5; k-- > 0; power /= 3) {
      const unsigned trit = std::min(rest / power, 2u);
      symbols[k * bytes + i] = static_cast<std::uint8_t>(trit);
      rest -= trit * power;
    }
  }
}

}  // namespace scalar
}  // namespace gradwire::kernel
#endif  // HWY_ONCE
