#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gradwire/kernel/dither.cpp"
#include <hwy/foreach_target.h>

#include "gradwire/kernel/dither.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "gradwire/core/check.h"
#include "gradwire/kernel/simd-inl.h"

#ifndef GRADWIRE_KERNEL_DITHER_ONCE
#define GRADWIRE_KERNEL_DITHER_ONCE
namespace gradwire::kernel {

// How a value finds its level. y = |x| / scale is moved down by 127 - s binary places, so that the
// smallest level 2^(1-s) meets the smallest normal float. Its bits then are the level's number and,
// below them, how far it is to the next one: adding 23 random bits rounds without bias, among the
// small values (which would be subnormal floats) as well. Subnormal arithmetic is slow, so those
// bits come from a fixed-point number instead.
struct DitherFactor {
  float lift = 1;     // brings values of tiny buckets to where the factor is finite
  float factor = 0;   // 1 / scale
  float to_fixed;     // y to units of 2^-23 of the smallest level
  std::int32_t down;  // what moving down takes from the bits of y
  std::int32_t small_below;

  DitherFactor(float scale, Dither dither) {
    if (scale < 0x1p-90f) lift = 0x1p100f;
    factor = 1.0f / (scale * lift);
    const bool all = dither.levels == kDitherLevelsAll;  // then nothing moves
    const int levels = static_cast<int>(dither.levels);
    to_fixed = all ? 0.0f : std::ldexp(1.0f, levels + 22);
    down = (127 - levels) << 23;
    small_below = all ? 0 : 1 << 23;
  }
};

inline constexpr float kFixedPoint = 0x1p23f;  // adding it leaves the integer in the mantissa
inline constexpr std::uint32_t kFixedPointBits = 0x4b000000u;

}  // namespace gradwire::kernel
#endif

HWY_BEFORE_NAMESPACE();
namespace gradwire::kernel::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
using scalar::dither_decode;
using scalar::dither_decode_add;
using scalar::dither_encode;
#else

void dither_encode(std::span<const float> values, const Buckets& buckets, Dither dither,
                   RandomStream stream, SymbolBlock symbols, const Ahead& ahead) {
  const F32 df;
  const I32 di;
  const U32 du;
  const U8 d8;
  const int sign_shift = 31 - static_cast<int>(dither.sign_bit);
  for_bucket_runs(
      values.size(), buckets, [&](std::size_t first, std::size_t count, float scale) HWY_ATTR {
        if (scale == 0 || std::isnan(scale)) {
          std::memset(symbols.data() + first, 0, count);
          return;
        }
        const DitherFactor factor(scale, dither);
        const bool lifted = factor.lift != 1;
        const VF lift = hn::Set(df, factor.lift);
        const VF multiplier = hn::Set(df, factor.factor);
        const VF to_fixed = hn::Set(df, factor.to_fixed);
        const auto down = hn::Set(di, factor.down);
        const auto small_below = hn::Set(di, factor.small_below);
        RandomVectors random(stream, first);
        values_to_symbols(
            values.subspan(first, count), symbols.data() + first, first, ahead,
            [&](const float* in, std::uint8_t* out) HWY_ATTR {
              VU symbol[4];
              for (std::size_t k = 0; k < 4; ++k) {
                const VF x = hn::LoadU(df, in + k * kLanes);
                VF y = hn::Abs(x);
                if (HWY_UNLIKELY(lifted)) y = hn::Mul(y, lift);
                y = hn::Min(hn::Mul(y, multiplier), hn::Set(df, 1.0f));
                const auto moved = hn::Sub(hn::BitCast(di, y), down);
                const VF shifted = hn::Add(hn::Mul(y, to_fixed), hn::Set(df, kFixedPoint));
                const auto fixed = hn::Sub(hn::BitCast(di, shifted),
                                           hn::Set(di, static_cast<std::int32_t>(kFixedPointBits)));
                const auto bits = hn::IfThenElse(hn::Lt(moved, small_below), fixed, moved);
                const VU rounded =
                    hn::Add(hn::BitCast(du, bits), hn::ShiftRight<9>(random.next()));
                const VU sign = hn::And(hn::BitCast(du, x), hn::Set(du, kSignBit));
                symbol[k] =
                    hn::Or(hn::ShiftRight<23>(rounded), hn::ShiftRightSame(sign, sign_shift));
              }
              hn::StoreU(bytes_of<0>(symbol[0], symbol[1], symbol[2], symbol[3]), d8, out);
            });
      });
}

template <class Write>
void decode_dither(ConstSymbolBlock symbols, const Buckets& buckets, Dither dither,
                   std::span<float> target, const Ahead& ahead, Write write) {
  const F32 df;
  const U32 du;
  const hn::Rebind<std::uint8_t, U32> d8;
  const VU level_mask = hn::Set(du, (1u << dither.sign_bit) - 1);
  const VU up = hn::Set(du, 127 - dither.levels);
  const int sign_shift = 31 - static_cast<int>(dither.sign_bit);
  for_bucket_runs(
      target.size(), buckets, [&](std::size_t first, std::size_t count, float scale) HWY_ATTR {
        const VF vscale = hn::Set(df, scale);
        symbols_to_target(
            target.subspan(first, count), first, ahead, write, [&](std::size_t i) HWY_ATTR {
              const VU symbol = hn::PromoteTo(du, hn::LoadU(d8, symbols.data() + first + i));
              const VU level = hn::And(symbol, level_mask);
              const VU power = hn::ShiftLeft<23>(hn::Add(level, up));
              const auto is_zero = hn::Eq(level, hn::Zero(du));
              const VF size = hn::BitCast(df, hn::IfThenZeroElse(is_zero, power));
              const VU sign = hn::And(hn::ShiftLeftSame(symbol, sign_shift),
                                      hn::Set(du, kSignBit));
              const VF value = hn::Mul(size, vscale);
              return hn::BitCast(df, hn::Xor(hn::BitCast(du, value), sign));
            });
      });
}

void dither_decode(ConstSymbolBlock symbols, const Buckets& buckets, Dither dither,
                   std::span<float> target, const Ahead& ahead) {
  decode_dither(symbols, buckets, dither, target, ahead, Assign{});
}

void dither_decode_add(ConstSymbolBlock symbols, const Buckets& buckets, Dither dither,
                       float weight, std::span<float> target, const Ahead& ahead) {
  decode_dither(symbols, buckets, dither, target, ahead, AddWeighted{weight});
}

#endif  // HWY_TARGET

}  // namespace gradwire::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradwire::kernel {

HWY_EXPORT(dither_encode);
HWY_EXPORT(dither_decode);
HWY_EXPORT(dither_decode_add);

void dither_encode(std::span<const float> values, const Buckets& buckets, Dither dither,
                   RandomStream stream, SymbolBlock symbols, const Ahead& ahead) {
  GW_CHECK(values.size() <= kBlockElements && dither.sign_bit <= 7);
  GW_CHECK(dither.levels >= 1 && dither.levels < 1u << dither.sign_bit);
  GW_CHECK(dither.levels <= kDitherLevelsMax || dither.levels == kDitherLevelsAll);
  HWY_DYNAMIC_DISPATCH(dither_encode)(values, buckets, dither, stream, symbols, ahead);
}

void dither_decode(ConstSymbolBlock symbols, const Buckets& buckets, Dither dither,
                   std::span<float> target, const Ahead& ahead) {
  GW_CHECK(target.size() <= kBlockElements);
  HWY_DYNAMIC_DISPATCH(dither_decode)(symbols, buckets, dither, target, ahead);
}

void dither_decode_add(ConstSymbolBlock symbols, const Buckets& buckets, Dither dither,
                       float weight, std::span<float> target, const Ahead& ahead) {
  GW_CHECK(target.size() <= kBlockElements);
  HWY_DYNAMIC_DISPATCH(dither_decode_add)(symbols, buckets, dither, weight, target, ahead);
}

namespace scalar {
namespace {

template <class Write>
void decode_dither(ConstSymbolBlock symbols, const Buckets& buckets, Dither dither,
                   std::span<float> target, Write write) {
  for_bucket_runs(target.size(), buckets, [&](std::size_t first, std::size_t count, float scale) {
    for (std::size_t j = first; j < first + count; ++j) {
      const std::uint32_t level = symbols[j] & ((1u << dither.sign_bit) - 1);
      const std::uint32_t power = level == 0 ? 0 : (level + 127 - dither.levels) << 23;
      const float value = std::bit_cast<float>(power) * scale;
      write(target[j], symbols[j] >> dither.sign_bit & 1 ? -value : value);
    }
  });
}

}  // namespace

void dither_encode(std::span<const float> values, const Buckets& buckets, Dither dither,
                   RandomStream stream, SymbolBlock symbols, const Ahead& /*ahead*/) {
  for_bucket_runs(values.size(), buckets, [&](std::size_t first, std::size_t count, float scale) {
    const DitherFactor factor(scale, dither);
    for (std::size_t j = first; j < first + count; ++j) {
      if (scale == 0 || std::isnan(scale)) {
        symbols[j] = 0;
        continue;
      }
      const float y = std::fmin(std::fabs(values[j]) * factor.lift * factor.factor, 1.0f);
      const std::int32_t moved = std::bit_cast<std::int32_t>(y) - factor.down;
      const float shifted = y * factor.to_fixed + kFixedPoint;
      const std::uint32_t bits = moved < factor.small_below
                                     ? std::bit_cast<std::uint32_t>(shifted) - kFixedPointBits
                                     : static_cast<std::uint32_t>(moved);
      const std::uint32_t level = (bits + (stream.at(static_cast<std::uint32_t>(j)) >> 9)) >> 23;
      const std::uint32_t negative = std::bit_cast<std::uint32_t>(values[j]) >> 31;
      symbols[j] = static_cast<std::uint8_t>(level | negative << dither.sign_bit);
    }
  });
}

void dither_decode(ConstSymbolBlock symbols, const Buckets& buckets, Dither dither,
                   std::span<float> target, const Ahead& /*ahead*/) {
  decode_dither(symbols, buckets, dither, target, [](float& out, float value) { out = value; });
}

void dither_decode_add(ConstSymbolBlock symbols, const Buckets& buckets, Dither dither,
                       float weight, std::span<float> target, const Ahead& /*ahead*/) {
  decode_dither(symbols, buckets, dither, target,
                [weight](float& out, float value) { out += weight * value; });
}

}  // namespace scalar
}  // namespace gradwire::kernel
#endif  // HWY_ONCE
