#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gradwire/kernel/half.cpp"
#include "gradwire/kernel/half.h"

#include <hwy/foreach_target.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "gradwire/core/check.h"
#include "gradwire/kernel/simd-inl.h"

#ifndef GRADWIRE_KERNEL_HALF_ONCE
#define GRADWIRE_KERNEL_HALF_ONCE
namespace gradwire::kernel {

// fp16 has 10 mantissa bits, 13 fewer than a float, and exponents 112 lower: taking 112 from the
// exponent and rounding 13 bits away leaves its bits. Below 2^-14 its values are multiples of
// 2^-24, and a fixed-point number with 13 bits behind that point has the bits to round: |x| 2^37 +
// 2^23, in its mantissa. Below 2^-14 that number has the larger bits and above it the moved one.
inline constexpr std::uint32_t kFp16FixedExponent = 127 + 23;
inline constexpr std::uint32_t kFp16Move = (kFp16FixedExponent - 112) << 23;
inline constexpr float kFp16ToFixed = 0x1p37f;
inline constexpr float kFp16FixedPoint = 0x1p23f;
inline constexpr std::uint32_t kFp16Rebias = kFp16FixedExponent << 10;
inline constexpr std::uint32_t kFp16Largest = 0x7bff;
inline constexpr std::uint32_t kFp16Infinity = 0x7c00;
inline constexpr std::uint32_t kFp16Nan = 0x7e00;

inline constexpr std::uint32_t kBf16LargestFloat = 0x7f7fffff;
inline constexpr std::uint32_t kBf16Infinity = 0x7f80;
inline constexpr std::uint32_t kBf16Nan = 0x7fc0;

}  // namespace gradwire::kernel
#endif

HWY_BEFORE_NAMESPACE();
namespace gradwire::kernel::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
using scalar::bf16_decode;
using scalar::bf16_decode_add;
using scalar::bf16_encode;
using scalar::fp16_decode;
using scalar::fp16_decode_add;
using scalar::fp16_encode;
#else

// The bits of finite values: what `round` makes of the magnitude, and the sign. False if one was
// not finite; the block is then to be done again by the scalar twin.
template <class Round>
bool encode_finite(std::span<const float> values, RandomStream stream, WideSymbolBlock symbols,
                   const Ahead& ahead, const Round& round) {
  const U32 d;
  const U16 d16;
  RandomVectors random(stream, 0);
  VU largest = hn::Zero(d);
  for_groups(values, 0, ahead, [&](std::size_t i, const float* in) HWY_ATTR {
    for (std::size_t k = 0; k < kGroup; k += kLanes) {
      const VU x = hn::BitCast(d, hn::LoadU(F32(), in + k));
      const VU magnitude = hn::And(x, hn::Set(d, kMagnitudeBits));
      largest = hn::Max(largest, magnitude);
      const VU sign = hn::ShiftRight<16>(hn::And(x, hn::Set(d, kSignBit)));
      const VU bits = hn::Or(round(magnitude, random.next()), sign);
      hn::StoreU(hn::TruncateTo(d16, bits), d16, symbols.data() + i + k);
    }
  });
  return hn::GetLane(hn::MaxOfLanes(d, largest)) < kInfinityBits;
}

bool fp16_encode(std::span<const float> values, RandomStream stream, WideSymbolBlock symbols,
                 const Ahead& ahead) {
  const U32 d;
  const F32 df;
  const bool finite =
      encode_finite(values, stream, symbols, ahead, [&](VU magnitude, VU random) HWY_ATTR {
        const VU moved = hn::Add(magnitude, hn::Set(d, kFp16Move));
        const VF units = hn::Mul(hn::BitCast(df, magnitude), hn::Set(df, kFp16ToFixed));
        const VU fixed = hn::BitCast(d, hn::Add(units, hn::Set(df, kFp16FixedPoint)));
        const VU rounded = hn::Add(hn::Max(moved, fixed), hn::ShiftRight<19>(random));
        const VU bits = hn::Sub(hn::ShiftRight<13>(rounded), hn::Set(d, kFp16Rebias));
        return hn::Min(bits, hn::Set(d, kFp16Largest));
      });
  return finite || scalar::fp16_encode(values, stream, symbols, ahead);
}

bool bf16_encode(std::span<const float> values, RandomStream stream, WideSymbolBlock symbols,
                 const Ahead& ahead) {
  const U32 d;
  const bool finite =
      encode_finite(values, stream, symbols, ahead, [&](VU magnitude, VU random) HWY_ATTR {
        const VU up = hn::Add(magnitude, hn::ShiftRight<16>(random));
        return hn::ShiftRight<16>(hn::Min(up, hn::Set(d, kBf16LargestFloat)));
      });
  return finite || scalar::bf16_encode(values, stream, symbols, ahead);
}

HWY_INLINE VF float_of_fp16(const std::uint16_t* symbols) {
  const auto bits16 = hn::LoadU(U16(), symbols);
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::PromoteTo(F32(), hn::BitCast(hn::Rebind<hwy::float16_t, F32>(), bits16));
#else
  // Highway's own way for older machines takes infinities and NaN for numbers.
  const U32 d;
  const VU bits = hn::PromoteTo(d, bits16);
  const VU magnitude = hn::And(bits, hn::Set(d, 0x7fff));
  const VU sign = hn::ShiftLeft<16>(hn::Xor(bits, magnitude));
  const VU rebias = hn::Set(d, 112u << 23);
  const VU normal = hn::Add(hn::ShiftLeft<13>(magnitude), rebias);
  const auto is_special = hn::Gt(magnitude, hn::Set(d, kFp16Largest));
  const auto is_nan = hn::Gt(magnitude, hn::Set(d, kFp16Infinity));
  const VU special =
      hn::Or(hn::Add(normal, rebias), hn::IfThenElseZero(is_nan, hn::Set(d, 1u << 22)));
  const VF small =
      hn::Mul(hn::ConvertTo(F32(), hn::BitCast(I32(), magnitude)), hn::Set(F32(), 0x1p-24f));
  const auto is_small = hn::Lt(magnitude, hn::Set(d, 1u << 10));
  const VU finite = hn::IfThenElse(is_small, hn::BitCast(d, small), normal);
  return hn::BitCast(F32(), hn::Or(sign, hn::IfThenElse(is_special, special, finite)));
#endif
}

template <class Write>
void decode_fp16(ConstWideSymbolBlock symbols, std::span<float> target, const Ahead& ahead,
                 Write write) {
  symbols_to_target(target, 0, ahead, write,
                    [&](std::size_t i) HWY_ATTR { return float_of_fp16(symbols.data() + i); });
}

template <class Write>
void decode_bf16(ConstWideSymbolBlock symbols, std::span<float> target, const Ahead& ahead,
                 Write write) {
  symbols_to_target(target, 0, ahead, write, [&](std::size_t i) HWY_ATTR {
    const auto bits = hn::PromoteTo(U32(), hn::LoadU(U16(), symbols.data() + i));
    return hn::BitCast(F32(), hn::ShiftLeft<16>(bits));
  });
}

void fp16_decode(ConstWideSymbolBlock symbols, std::span<float> target, const Ahead& ahead) {
  decode_fp16(symbols, target, ahead, Assign{});
}
void fp16_decode_add(ConstWideSymbolBlock symbols, float weight, std::span<float> target,
                     const Ahead& ahead) {
  decode_fp16(symbols, target, ahead, AddWeighted{weight});
}
void bf16_decode(ConstWideSymbolBlock symbols, std::span<float> target, const Ahead& ahead) {
  decode_bf16(symbols, target, ahead, Assign{});
}
void bf16_decode_add(ConstWideSymbolBlock symbols, float weight, std::span<float> target,
                     const Ahead& ahead) {
  decode_bf16(symbols, target, ahead, AddWeighted{weight});
}

#endif  // HWY_TARGET

}  // namespace gradwire::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradwire::kernel {

HWY_EXPORT(fp16_encode);
HWY_EXPORT(fp16_decode);
HWY_EXPORT(fp16_decode_add);
HWY_EXPORT(bf16_encode);
HWY_EXPORT(bf16_decode);
HWY_EXPORT(bf16_decode_add);

bool fp16_encode(std::span<const float> values, RandomStream stream, WideSymbolBlock symbols,
                 const Ahead& ahead) {
  GW_CHECK(values.size() <= kBlockElements);
  return HWY_DYNAMIC_DISPATCH(fp16_encode)(values, stream, symbols, ahead);
}
void fp16_decode(ConstWideSymbolBlock symbols, std::span<float> target, const Ahead& ahead) {
  GW_CHECK(target.size() <= kBlockElements);
  HWY_DYNAMIC_DISPATCH(fp16_decode)(symbols, target, ahead);
}
void fp16_decode_add(ConstWideSymbolBlock symbols, float weight, std::span<float> target,
                     const Ahead& ahead) {
  GW_CHECK(target.size() <= kBlockElements);
  HWY_DYNAMIC_DISPATCH(fp16_decode_add)(symbols, weight, target, ahead);
}
bool bf16_encode(std::span<const float> values, RandomStream stream, WideSymbolBlock symbols,
                 const Ahead& ahead) {
  GW_CHECK(values.size() <= kBlockElements);
  return HWY_DYNAMIC_DISPATCH(bf16_encode)(values, stream, symbols, ahead);
}
void bf16_decode(ConstWideSymbolBlock symbols, std::span<float> target, const Ahead& ahead) {
  GW_CHECK(target.size() <= kBlockElements);
  HWY_DYNAMIC_DISPATCH(bf16_decode)(symbols, target, ahead);
}
void bf16_decode_add(ConstWideSymbolBlock symbols, float weight, std::span<float> target,
                     const Ahead& ahead) {
  GW_CHECK(target.size() <= kBlockElements);
  HWY_DYNAMIC_DISPATCH(bf16_decode_add)(symbols, weight, target, ahead);
}

namespace scalar {
namespace {

template <class Round>
bool encode_half(std::span<const float> values, RandomStream stream, WideSymbolBlock symbols,
                 std::uint32_t infinity, std::uint32_t nan, Round round) {
  bool finite = true;
  for (std::size_t j = 0; j < values.size(); ++j) {
    const auto x = std::bit_cast<std::uint32_t>(values[j]);
    const std::uint32_t magnitude = x & 0x7fffffffu;
    std::uint32_t bits = magnitude > 0x7f800000u ? nan : infinity;
    if (magnitude < 0x7f800000u) {
      bits = round(magnitude, stream.at(static_cast<std::uint32_t>(j)));
    } else {
      finite = false;
    }
    symbols[j] = static_cast<std::uint16_t>(bits | x >> 31 << 15);
  }
  return finite;
}

std::uint32_t round_fp16(std::uint32_t magnitude, std::uint32_t random) {
  const float fixed = std::bit_cast<float>(magnitude) * kFp16ToFixed + kFp16FixedPoint;
  const std::uint32_t bits = std::max(magnitude + kFp16Move, std::bit_cast<std::uint32_t>(fixed));
  return std::min(((bits + (random >> 19)) >> 13) - kFp16Rebias, kFp16Largest);
}

std::uint32_t round_bf16(std::uint32_t magnitude, std::uint32_t random) {
  return std::min(magnitude + (random >> 16), kBf16LargestFloat) >> 16;
}

float float_of_fp16(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits} >> 15 << 31;
  const std::uint32_t exponent = bits >> 10 & 31u;
  const std::uint32_t mantissa = bits & 1023u;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  const std::uint32_t wide_exponent = exponent == 31 ? 255 : exponent + 112;
  // Hardware makes every NaN a quiet one.
  const std::uint32_t quiet = exponent == 31 && mantissa != 0 ? 1u << 22 : 0;
  return std::bit_cast<float>(sign | wide_exponent << 23 | mantissa << 13 | quiet);
}

float float_of_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

}  // namespace

bool fp16_encode(std::span<const float> values, RandomStream stream, WideSymbolBlock symbols,
                 const Ahead& /*ahead*/) {
  return encode_half(values, stream, symbols, kFp16Infinity, kFp16Nan, round_fp16);
}
void fp16_decode(ConstWideSymbolBlock symbols, std::span<float> target, const Ahead& /*ahead*/) {
  for (std::size_t j = 0; j < target.size(); ++j) target[j] = float_of_fp16(symbols[j]);
}
void fp16_decode_add(ConstWideSymbolBlock symbols, float weight, std::span<float> target,
                     const Ahead& /*ahead*/) {
  for (std::size_t j = 0; j < target.size(); ++j) target[j] += weight * float_of_fp16(symbols[j]);
}
bool bf16_encode(std::span<const float> values, RandomStream stream, WideSymbolBlock symbols,
                 const Ahead& /*ahead*/) {
  return encode_half(values, stream, symbols, kBf16Infinity, kBf16Nan, round_bf16);
}
void bf16_decode(ConstWideSymbolBlock symbols, std::span<float> target, const Ahead& /*ahead*/) {
  for (std::size_t j = 0; j < target.size(); ++j) target[j] = float_of_bf16(symbols[j]);
}
void bf16_decode_add(ConstWideSymbolBlock symbols, float weight, std::span<float> target,
                     const Ahead& /*ahead*/) {
  for (std::size_t j = 0; j < target.size(); ++j) target[j] += weight * float_of_bf16(symbols[j]);
}

}  // namespace scalar
}  // namespace gradwire::kernel
#endif  // HWY_ONCE
