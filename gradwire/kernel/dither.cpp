#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gradwire/kernel/dither.cpp"
#include "gradwire/kernel/dither.h"

#include <hwy/foreach_target.h>

#include <algorithm>
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
// bits come from a fixed-point number instead: y in units of 2^-23 of the smallest level, plus
// 2^23, has them in its mantissa. Below the smallest level the fixed-point number has the larger
// bits and above it the moved one, so the larger of the two is always the right one.
struct DitherFactor {
  float lift = 1;      // brings values of tiny buckets to where the factor is finite
  float factor = 0;    // |x| * lift * factor is y, and never above 1
  float to_fixed;      // y to fixed point
  std::uint32_t move;  // what moving down, and the bits of 2^23, add to the bits of y

  DitherFactor(float scale, Dither dither) {
    if (scale < 0x1p-90f) lift = 0x1p100f;
    factor = 1.0f / (scale * lift);
    while (scale * lift * factor > 1.0f) factor = std::nextafter(factor, 0.0f);
    to_fixed = std::ldexp(1.0f, static_cast<int>(dither.levels) + 22);
    move = (kFixedExponent << 23) - ((127 - dither.levels) << 23);
  }

  static constexpr float kFixedPoint = 0x1p23f;
  static constexpr std::uint32_t kFixedExponent = 127 + 23;
};

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
  const U32 du;
  const U8 d8;
  const int sign_shift = 7 - static_cast<int>(dither.sign_bit);
  for (BucketRun run(values.size(), buckets); !run.done(); run.next()) {
    const std::size_t first = run.first(), count = run.count();
    const float scale = run.scale();
    if (is_blank(scale)) {
      std::memset(symbols.data() + first, 0, count);
      continue;
    }
    const DitherFactor way(scale, dither);
    const bool lifted = way.lift != 1;
    const VF lift = hn::Set(df, way.lift);
    const VF factor = hn::Set(df, way.factor);
    const VF to_fixed = hn::Set(df, way.to_fixed);
    const VF fixed_point = hn::Set(df, DitherFactor::kFixedPoint);
    const VU move = hn::Set(du, way.move);
    RandomVectors random(stream, first);
    values_to_symbols(
        values.subspan(first, count), symbols.data() + first, first, ahead,
        [&](const float* in, std::uint8_t* out) HWY_ATTR {
          VU x[4];
          VU rounded[4];
          for (std::size_t k = 0; k < 4; ++k) {
            VF y = hn::LoadU(df, in + k * kLanes);
            x[k] = hn::BitCast(du, y);
            y = hn::Abs(y);
            if (HWY_UNLIKELY(lifted)) y = hn::Mul(y, lift);
            y = hn::Mul(y, factor);
            const VU moved = hn::Add(hn::BitCast(du, y), move);
            const VU fixed = hn::BitCast(du, hn::Add(hn::Mul(y, to_fixed), fixed_point));
            rounded[k] = hn::Add(hn::Max(moved, fixed), hn::ShiftRight<9>(random.next()));
            rounded[k] = hn::Add(rounded[k], rounded[k]);  // the exponent becomes byte 3
          }
          const VB level = hn::Sub(bytes_of<3>(rounded[0], rounded[1], rounded[2], rounded[3]),
                                   hn::Set(d8, DitherFactor::kFixedExponent));
          const VB sign = hn::And(bytes_of<3>(x[0], x[1], x[2], x[3]), hn::Set(d8, 0x80));
          hn::StoreU(hn::Or(level, hn::ShiftRightSame(sign, sign_shift)), d8, out);
        });
  }
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
  for (BucketRun run(target.size(), buckets); !run.done(); run.next()) {
    const std::size_t first = run.first(), count = run.count();
    const float scale = run.scale();
    const VF vscale = hn::Set(df, scale);
    symbols_to_target(
        target.subspan(first, count), first, ahead, write, [&](std::size_t i) HWY_ATTR {
          const VU symbol = hn::PromoteTo(du, hn::LoadU(d8, symbols.data() + first + i));
          const VU level = hn::And(symbol, level_mask);
          const VU power = hn::ShiftLeft<23>(hn::Add(level, up));
          const auto is_zero = hn::Eq(level, hn::Zero(du));
          const VF size = hn::BitCast(df, hn::IfThenZeroElse(is_zero, power));
          const VU sign = hn::And(hn::ShiftLeftSame(symbol, sign_shift), hn::Set(du, kSignBit));
          const VF value = hn::Mul(size, vscale);
          return hn::BitCast(df, hn::Xor(hn::BitCast(du, value), sign));
        });
  }
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
  GW_CHECK(dither.levels <= kDitherLevelsMax);
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
  for (BucketRun run(target.size(), buckets); !run.done(); run.next()) {
    const std::size_t first = run.first(), count = run.count();
    const float scale = run.scale();
    for (std::size_t j = first; j < first + count; ++j) {
      const std::uint32_t level = symbols[j] & ((1u << dither.sign_bit) - 1);
      const std::uint32_t power = level == 0 ? 0 : (level + 127 - dither.levels) << 23;
      const float value = std::bit_cast<float>(power) * scale;
      write(target[j], symbols[j] >> dither.sign_bit & 1 ? -value : value);
    }
  }
}

}  // namespace

void dither_encode(std::span<const float> values, const Buckets& buckets, Dither dither,
                   RandomStream stream, SymbolBlock symbols, const Ahead& /*ahead*/) {
  for (BucketRun run(values.size(), buckets); !run.done(); run.next()) {
    const std::size_t first = run.first(), count = run.count();
    const float scale = run.scale();
    const bool none = is_blank(scale);
    const DitherFactor way(none ? 1 : scale, dither);
    for (std::size_t j = first; j < first + count; ++j) {
      if (none) {
        symbols[j] = 0;
        continue;
      }
      const float y = std::fabs(values[j]) * way.lift * way.factor;
      const std::uint32_t moved = std::bit_cast<std::uint32_t>(y) + way.move;
      const float fixed = y * way.to_fixed + DitherFactor::kFixedPoint;
      const std::uint32_t rounded = std::max(moved, std::bit_cast<std::uint32_t>(fixed)) +
                                    (stream.at(static_cast<std::uint32_t>(j)) >> 9);
      const std::uint32_t level = (rounded >> 23) - DitherFactor::kFixedExponent;
      const std::uint32_t negative = std::bit_cast<std::uint32_t>(values[j]) >> 31;
      symbols[j] = static_cast<std::uint8_t>(level | negative << dither.sign_bit);
    }
  }
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
