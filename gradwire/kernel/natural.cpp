#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gradwire/kernel/natural.cpp"
#include "gradwire/kernel/natural.h"

#include <hwy/foreach_target.h>

#include <algorithm>
#include <bit>

#include "gradwire/core/check.h"
#include "gradwire/kernel/simd-inl.h"

#ifndef GRADWIRE_KERNEL_NATURAL_ONCE
#define GRADWIRE_KERNEL_NATURAL_ONCE
namespace gradwire::kernel {

// What to take from an exponent, but not below zero, and what to add to it, so that the scale's own
// becomes 127. A scale of zero or NaN needs no exponents.
struct ExponentShift {
  std::uint8_t down = 0;
  std::uint8_t up = 0;

  explicit ExponentShift(float scale) {
    const std::uint32_t exponent = std::bit_cast<std::uint32_t>(scale) >> 23 & 255;
    if (exponent > 127) down = static_cast<std::uint8_t>(exponent - 127);
    if (exponent < 127) up = static_cast<std::uint8_t>(127 - exponent);
    if (exponent == 0 || exponent == 255) down = 255, up = 0;
  }
};

namespace scalar {
void to_symbols(ExponentShift shift, std::size_t first, std::size_t count, SymbolBlock symbols,
                ConstBitBlock signs);
}  // namespace scalar

}  // namespace gradwire::kernel
#endif

HWY_BEFORE_NAMESPACE();
namespace gradwire::kernel::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
using scalar::natural_bytes_encode;
using scalar::natural_decode;
using scalar::natural_decode_add;
using scalar::natural_encode;
#else

bool natural_encode(std::span<const float> values, RandomStream stream, SymbolBlock exponents,
                    BitBlock signs, const Ahead& ahead) {
  const U32 d;
  const U8 d8;
  RandomVectors random(stream, 0);
  // A carry out of the mantissa rounds up. Subnormals, values at the top and non-finite ones have
  // rules of their own: they may show as an exponent of 1 or 255, or a NaN as a carry into its
  // sign. Then the block is done again by the rules.
  VB rare = hn::Set(d8, 1);  // becomes zero somewhere
  VU flipped = hn::Zero(d);  // gets a sign bit somewhere
  for_groups(values, 0, ahead, [&](std::size_t i, const float* in) HWY_ATTR {
    VU rounded[4];
    for (std::size_t k = 0; k < 4; ++k) {
      const VU x = hn::BitCast(d, hn::LoadU(F32(), in + k * kLanes));
      rounded[k] = hn::Add(x, hn::ShiftRight<9>(random.next()));
      flipped = hn::Or(flipped, hn::Xor(x, rounded[k]));
    }
    store_signs(rounded[0], rounded[1], rounded[2], rounded[3], signs.data() + i / 8);
    const VB e = bytes_of<3>(hn::Add(rounded[0], rounded[0]), hn::Add(rounded[1], rounded[1]),
                             hn::Add(rounded[2], rounded[2]), hn::Add(rounded[3], rounded[3]));
    hn::StoreU(e, d8, exponents.data() + i);
    const VB not_255 = hn::Add(e, hn::Set(d8, 1));
    const VB not_1 = hn::Xor(e, hn::Set(d8, 1));
    rare = hn::Min(rare, hn::Min(not_255, not_1));
  });
  const I32 di;
  if (hn::AllFalse(d8, hn::Eq(rare, hn::Zero(d8))) &&
      hn::AllFalse(di, hn::Lt(hn::BitCast(di, flipped), hn::Zero(di)))) {
    return true;
  }
  return scalar::natural_encode(values, stream, exponents, signs, ahead);
}

void natural_bytes_encode(std::span<const float> values, const Buckets& buckets,
                          RandomStream stream, SymbolBlock symbols, BitBlock signs,
                          const Ahead& ahead) {
  const U8 d;
  HWY_NAMESPACE::natural_encode(values, stream, symbols, signs, ahead);
  for (BucketRun run(values.size(), buckets); !run.done(); run.next()) {
    const std::size_t first = run.first(), count = run.count();
    const float scale = run.scale();
    const ExponentShift shift(scale);
    if (first % kGroup != 0 || count % kGroup != 0) {
      scalar::to_symbols(shift, first, count, symbols, signs);
      continue;
    }
    for (std::size_t i = first; i < first + count; i += kGroup) {
      const VB e = hn::LoadU(d, symbols.data() + i);
      const VB moved = hn::Add(hn::SaturatedSub(e, hn::Set(d, shift.down)), hn::Set(d, shift.up));
      const VB level = hn::IfThenZeroElse(hn::Eq(e, hn::Zero(d)), moved);
      std::uint8_t bits[8] = {};
      std::memcpy(bits, signs.data() + i / 8, kGroup / 8);
      const VB sign = hn::IfThenElseZero(hn::LoadMaskBits(d, bits), hn::Set(d, 0x80));
      hn::StoreU(hn::Or(level, sign), d, symbols.data() + i);
    }
  }
}

template <class Write>
void decode_with(ConstSymbolBlock exponents, ConstBitBlock signs, std::span<float> target,
                 const Ahead& ahead, Write write) {
  const U32 d;
  const hn::Rebind<std::uint8_t, U32> d8;
  symbols_to_target(target, 0, ahead, write, [&](std::size_t i) HWY_ATTR {
    const VU e = hn::PromoteTo(d, hn::LoadU(d8, exponents.data() + i));
    return hn::BitCast(F32(), hn::Or(hn::ShiftLeft<23>(e), load_signs(signs.data(), i)));
  });
}

void natural_decode(ConstSymbolBlock exponents, ConstBitBlock signs, std::span<float> target,
                    const Ahead& ahead) {
  decode_with(exponents, signs, target, ahead, Assign{});
}

void natural_decode_add(ConstSymbolBlock exponents, ConstBitBlock signs, float weight,
                        std::span<float> target, const Ahead& ahead) {
  decode_with(exponents, signs, target, ahead, AddWeighted{weight});
}

#endif  // HWY_TARGET

}  // namespace gradwire::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradwire::kernel {

HWY_EXPORT(natural_encode);
HWY_EXPORT(natural_bytes_encode);
HWY_EXPORT(natural_decode);
HWY_EXPORT(natural_decode_add);

bool natural_encode(std::span<const float> values, RandomStream stream, SymbolBlock exponents,
                    BitBlock signs, const Ahead& ahead) {
  GW_CHECK(values.size() <= kBlockElements);
  return HWY_DYNAMIC_DISPATCH(natural_encode)(values, stream, exponents, signs, ahead);
}

void natural_bytes_encode(std::span<const float> values, const Buckets& buckets,
                          RandomStream stream, SymbolBlock symbols, BitBlock signs,
                          const Ahead& ahead) {
  GW_CHECK(values.size() <= kBlockElements);
  HWY_DYNAMIC_DISPATCH(natural_bytes_encode)(values, buckets, stream, symbols, signs, ahead);
}

void natural_decode(ConstSymbolBlock exponents, ConstBitBlock signs, std::span<float> target,
                    const Ahead& ahead) {
  GW_CHECK(target.size() <= kBlockElements);
  HWY_DYNAMIC_DISPATCH(natural_decode)(exponents, signs, target, ahead);
}

void natural_decode_add(ConstSymbolBlock exponents, ConstBitBlock signs, float weight,
                        std::span<float> target, const Ahead& ahead) {
  GW_CHECK(target.size() <= kBlockElements);
  HWY_DYNAMIC_DISPATCH(natural_decode_add)(exponents, signs, weight, target, ahead);
}

namespace scalar {
namespace {

constexpr std::uint32_t kTopExponent = 254u << 23;  // of the largest finite values
constexpr std::uint32_t kFirstNormal = 1u << 23;

std::uint32_t round_to_power_of_two(std::uint32_t magnitude, std::uint32_t random_bits_23) {
  if (magnitude < kFirstNormal) return 0;
  if (magnitude < kTopExponent) magnitude += random_bits_23;
  return magnitude >> 23;
}

float value_of(ConstSymbolBlock exponents, ConstBitBlock signs, std::size_t j) {
  const std::uint32_t negative = signs[j / 8] >> (j % 8) & 1u;
  return std::bit_cast<float>(negative << 31 | std::uint32_t{exponents[j]} << 23);
}

}  // namespace

bool natural_encode(std::span<const float> values, RandomStream stream, SymbolBlock exponents,
                    BitBlock signs, const Ahead& /*ahead*/) {
  bool finite = true;
  for (std::size_t j = 0; j < values.size(); ++j) {
    const auto bits = std::bit_cast<std::uint32_t>(values[j]);
    const std::uint32_t exponent =
        round_to_power_of_two(bits & 0x7fffffffu, stream.at(static_cast<std::uint32_t>(j)) >> 9);
    exponents[j] = static_cast<std::uint8_t>(exponent);
    finite = finite && exponent != 255;
    const auto bit = static_cast<std::uint8_t>(1u << (j % 8));
    if (j % 8 == 0) signs[j / 8] = 0;
    if (bits >> 31) signs[j / 8] = static_cast<std::uint8_t>(signs[j / 8] | bit);
  }
  return finite;
}

void to_symbols(ExponentShift shift, std::size_t first, std::size_t count, SymbolBlock symbols,
                ConstBitBlock signs) {
  for (std::size_t j = first; j < first + count; ++j) {
    const int e = symbols[j];
    const int level = e == 0 ? 0 : std::max(0, e - shift.down) + shift.up;
    const int negative = signs[j / 8] >> (j % 8) & 1;
    symbols[j] = static_cast<std::uint8_t>(level | negative << 7);
  }
}

void natural_bytes_encode(std::span<const float> values, const Buckets& buckets,
                          RandomStream stream, SymbolBlock symbols, BitBlock signs,
                          const Ahead& ahead) {
  scalar::natural_encode(values, stream, symbols, signs, ahead);
  for (BucketRun run(values.size(), buckets); !run.done(); run.next()) {
    const std::size_t first = run.first(), count = run.count();
    const float scale = run.scale();
    scalar::to_symbols(ExponentShift(scale), first, count, symbols, signs);
  }
}

void natural_decode(ConstSymbolBlock exponents, ConstBitBlock signs, std::span<float> target,
                    const Ahead& /*ahead*/) {
  for (std::size_t j = 0; j < target.size(); ++j) target[j] = value_of(exponents, signs, j);
}

void natural_decode_add(ConstSymbolBlock exponents, ConstBitBlock signs, float weight,
                        std::span<float> target, const Ahead& /*ahead*/) {
  for (std::size_t j = 0; j < target.size(); ++j) {
    target[j] += weight * value_of(exponents, signs, j);
  }
}

}  // namespace scalar
}  // namespace gradwire::kernel
#endif  // HWY_ONCE
