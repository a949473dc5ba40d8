#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gradwire/kernel/levels.cpp"
#include "gradwire/kernel/levels.h"

#include <hwy/foreach_target.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "gradwire/core/check.h"
#include "gradwire/kernel/simd-inl.h"

#ifndef GRADWIRE_KERNEL_LEVELS_ONCE
#define GRADWIRE_KERNEL_LEVELS_ONCE
namespace gradwire::kernel {

// How the values of one bucket get to fixed point. Adding 2^23 to a float below it leaves its
// integer part in the mantissa.
struct LevelFactor {
  float lift = 1;    // brings values of tiny buckets to where the factor is finite
  float factor = 0;  // x * lift * factor is x / scale in fixed point, and never above u
  float zero = 0;    // 2^23 and the zero level

  LevelFactor(float scale, unsigned bits) {
    const float most = static_cast<float>(levels_of(bits)) * static_cast<float>(1u << (23 - bits));
    if (scale < 0x1p-90f) lift = 0x1p100f;
    factor = most / (scale * lift);
    while (scale * lift * factor > most) factor = std::nextafter(factor, 0.0f);
    zero = 0x1p23f + most;
  }
};

}  // namespace gradwire::kernel
#endif

HWY_BEFORE_NAMESPACE();
namespace gradwire::kernel::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
using scalar::levels_decode;
using scalar::levels_decode_add;
using scalar::levels_encode;
#else

template <Rounding kRounding, bool kClip>
void encode_levels(std::span<const float> values, const Buckets& buckets, unsigned bits,
                   RandomStream stream, SymbolBlock symbols, const Ahead& ahead) {
  const F32 df;
  const U32 du;
  const U8 d8;
  const VU noise_shift = hn::Set(du, 9 + bits);
  const VU half = hn::Set(du, 1u << (22 - bits));
  const int symbol_shift = 8 - static_cast<int>(bits);
  for (BucketRun run(values.size(), buckets); !run.done(); run.next()) {
    const std::size_t first = run.first(), count = run.count();
    const float scale = run.scale();
    if (is_blank(scale)) {
      std::memset(symbols.data() + first, static_cast<int>(levels_of(bits)), count);
      continue;
    }
    const LevelFactor to_fixed(scale, bits);
    const bool lifted = to_fixed.lift != 1;
    const VF lift = hn::Set(df, to_fixed.lift);
    const VF factor = hn::Set(df, to_fixed.factor);
    const VF zero = hn::Set(df, to_fixed.zero);
    const VF most = hn::Set(df, scale);
    const VF least = hn::Set(df, -scale);
    RandomVectors random(stream, first);
    values_to_symbols(
        values.subspan(first, count), symbols.data() + first, first, ahead,
        [&](const float* in, std::uint8_t* out) HWY_ATTR {
          VU fixed[4];
          for (std::size_t k = 0; k < 4; ++k) {
            VF x = hn::LoadU(df, in + k * kLanes);
            if constexpr (kClip) x = hn::Min(hn::Max(x, least), most);
            if (HWY_UNLIKELY(lifted)) x = hn::Mul(x, lift);
            const VU y = hn::BitCast(du, hn::Add(hn::Mul(x, factor), zero));
            const VU noise =
                kRounding == Rounding::nearest ? half : hn::Shr(random.next(), noise_shift);
            fixed[k] = hn::Add(y, noise);
            fixed[k] = hn::Add(fixed[k], fixed[k]);  // brings the symbol to the top of byte 2
          }
          const VB tops = bytes_of<2>(fixed[0], fixed[1], fixed[2], fixed[3]);
          hn::StoreU(hn::ShiftRightSame(tops, symbol_shift), d8, out);
        });
  }
}

void levels_encode(std::span<const float> values, const Buckets& buckets,
                   const LevelsSetting& setting, RandomStream stream, SymbolBlock symbols,
                   const Ahead& ahead) {
  const auto encode = setting.rounding == Rounding::nearest
                          ? (setting.clip ? encode_levels<Rounding::nearest, true>
                                          : encode_levels<Rounding::nearest, false>)
                          : (setting.clip ? encode_levels<Rounding::stochastic, true>
                                          : encode_levels<Rounding::stochastic, false>);
  encode(values, buckets, setting.bits, stream, symbols, ahead);
}

template <class Write>
void decode_levels(ConstSymbolBlock symbols, const Buckets& buckets, unsigned bits,
                   std::span<float> target, const Ahead& ahead, Write write) {
  const F32 df;
  const I32 di;
  const hn::Rebind<std::uint8_t, I32> d8;
  const auto zero_level = hn::Set(di, static_cast<std::int32_t>(levels_of(bits)));
  const VF unit = hn::Set(df, 1.0f / static_cast<float>(levels_of(bits)));
  for (BucketRun run(target.size(), buckets); !run.done(); run.next()) {
    const std::size_t first = run.first(), count = run.count();
    const float scale = run.scale();
    const VF vscale = hn::Set(df, scale);
    symbols_to_target(
        target.subspan(first, count), first, ahead, write, [&](std::size_t i) HWY_ATTR {
          const auto code = hn::PromoteTo(di, hn::LoadU(d8, symbols.data() + first + i));
          const VF level = hn::ConvertTo(df, hn::Sub(code, zero_level));
          return hn::Mul(hn::Mul(level, unit), vscale);
        });
  }
}

void levels_decode(ConstSymbolBlock symbols, const Buckets& buckets, unsigned bits,
                   std::span<float> target, const Ahead& ahead) {
  decode_levels(symbols, buckets, bits, target, ahead, Assign{});
}

void levels_decode_add(ConstSymbolBlock symbols, const Buckets& buckets, unsigned bits,
                       float weight, std::span<float> target, const Ahead& ahead) {
  decode_levels(symbols, buckets, bits, target, ahead, AddWeighted{weight});
}

#endif  // HWY_TARGET

}  // namespace gradwire::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradwire::kernel {

HWY_EXPORT(levels_encode);
HWY_EXPORT(levels_decode);
HWY_EXPORT(levels_decode_add);

void levels_encode(std::span<const float> values, const Buckets& buckets,
                   const LevelsSetting& setting, RandomStream stream, SymbolBlock symbols,
                   const Ahead& ahead) {
  GW_CHECK(values.size() <= kBlockElements && setting.bits >= 2 && setting.bits <= 8);
  HWY_DYNAMIC_DISPATCH(levels_encode)(values, buckets, setting, stream, symbols, ahead);
}

void levels_decode(ConstSymbolBlock symbols, const Buckets& buckets, unsigned bits,
                   std::span<float> target, const Ahead& ahead) {
  GW_CHECK(target.size() <= kBlockElements && bits >= 2);
  HWY_DYNAMIC_DISPATCH(levels_decode)(symbols, buckets, bits, target, ahead);
}

void levels_decode_add(ConstSymbolBlock symbols, const Buckets& buckets, unsigned bits,
                       float weight, std::span<float> target, const Ahead& ahead) {
  GW_CHECK(target.size() <= kBlockElements && bits >= 2);
  HWY_DYNAMIC_DISPATCH(levels_decode_add)(symbols, buckets, bits, weight, target, ahead);
}

namespace scalar {
namespace {

template <class Write>
void decode_levels(ConstSymbolBlock symbols, const Buckets& buckets, unsigned bits,
                   std::span<float> target, Write write) {
  const auto u = static_cast<int>(levels_of(bits));
  const float unit = 1.0f / static_cast<float>(u);
  for (BucketRun run(target.size(), buckets); !run.done(); run.next()) {
    const std::size_t first = run.first(), count = run.count();
    const float scale = run.scale();
    for (std::size_t j = first; j < first + count; ++j) {
      write(target[j], static_cast<float>(symbols[j] - u) * unit * scale);
    }
  }
}

}  // namespace

void levels_encode(std::span<const float> values, const Buckets& buckets,
                   const LevelsSetting& setting, RandomStream stream, SymbolBlock symbols,
                   const Ahead& /*ahead*/) {
  const unsigned places = 23 - setting.bits;  // behind the point
  for (BucketRun run(values.size(), buckets); !run.done(); run.next()) {
    const std::size_t first = run.first(), count = run.count();
    const float scale = run.scale();
    const bool none = is_blank(scale);
    const LevelFactor to_fixed(none ? 1 : scale, setting.bits);
    for (std::size_t j = first; j < first + count; ++j) {
      if (none) {
        symbols[j] = static_cast<std::uint8_t>(levels_of(setting.bits));
        continue;
      }
      const float x = setting.clip ? std::clamp(values[j], -scale, scale) : values[j];
      const float y = x * to_fixed.lift * to_fixed.factor + to_fixed.zero;
      const std::uint32_t noise = setting.rounding == Rounding::nearest
                                      ? 1u << (places - 1)
                                      : stream.at(static_cast<std::uint32_t>(j)) >> (32 - places);
      const std::uint32_t fixed = (std::bit_cast<std::uint32_t>(y) & 0x7fffffu) + noise;
      symbols[j] = static_cast<std::uint8_t>(fixed >> places);
    }
  }
}

void levels_decode(ConstSymbolBlock symbols, const Buckets& buckets, unsigned bits,
                   std::span<float> target, const Ahead& /*ahead*/) {
  decode_levels(symbols, buckets, bits, target, [](float& out, float value) { out = value; });
}

void levels_decode_add(ConstSymbolBlock symbols, const Buckets& buckets, unsigned bits,
                       float weight, std::span<float> target, const Ahead& /*ahead*/) {
  decode_levels(symbols, buckets, bits, target,
                [weight](float& out, float value) { out += weight * value; });
}

}  // namespace scalar
}  // namespace gradwire::kernel
#endif  // HWY_ONCE
