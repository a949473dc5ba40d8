#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gradwire/kernel/levels.cpp"
#include <hwy/foreach_target.h>

#include "gradwire/kernel/levels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gradwire/core/check.h"
#include "gradwire/kernel/simd-inl.h"

#ifndef GRADWIRE_KERNEL_LEVELS_ONCE
#define GRADWIRE_KERNEL_LEVELS_ONCE
namespace gradwire::kernel {

// Levels are found in fixed point with 24 bits behind the point: level = floor(y + r) is then one
// integer addition of a 24-bit random number, exact to the last bit.
struct LevelFactor {
  float lift = 1;  // brings values of tiny buckets to where the factor is finite
  float factor = 0;
  float most = 0;  // u in fixed point

  LevelFactor(float scale, std::uint32_t u) : most(static_cast<float>(u) * 0x1p24f) {
    if (scale < 0x1p-90f) lift = 0x1p100f;
    factor = most / (scale * lift);
  }
};

// No value of such a bucket survives: its symbols say zero, and its scale says the rest.
inline bool has_no_levels(float scale) { return scale == 0 || std::isnan(scale); }

inline constexpr std::uint32_t kHalf = 1u << 23;  // in fixed point

}  // namespace gradwire::kernel
#endif

HWY_BEFORE_NAMESPACE();
namespace gradwire::kernel::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
using scalar::levels_decode;
using scalar::levels_decode_add;
using scalar::levels_encode;
#else

template <Rounding kRounding>
void encode_blocks(std::span<const float> values, const Buckets& buckets, std::uint32_t u,
                   RandomStream stream, SymbolBlock symbols, const Ahead& ahead) {
  const F32 df;
  const U32 du;
  const U8 d8;
  for_bucket_runs(
      values.size(), buckets, [&](std::size_t first, std::size_t count, float scale) HWY_ATTR {
        if (has_no_levels(scale)) {
          std::memset(symbols.data() + first, static_cast<int>(u), count);
          return;
        }
        const LevelFactor factor(scale, u);
        const VF lift = hn::Set(df, factor.lift);
        const VF multiplier = hn::Set(df, factor.factor);
        const VF most = hn::Set(df, factor.most);
        const VF least = hn::Set(df, -factor.most);
        const VU zero_level = hn::Set(du, u << 24);
        const VU half = hn::Set(du, (u << 24) + kHalf);
        const bool lifted = factor.lift != 1;
        RandomVectors random(stream, first);

        values_to_symbols(
            values.subspan(first, count), symbols.data() + first, first, ahead,
            [&](const float* in, std::uint8_t* out) HWY_ATTR {
              VU fixed[4];
              for (std::size_t k = 0; k < 4; ++k) {
                VF x = hn::LoadU(df, in + k * kLanes);
                if (HWY_UNLIKELY(lifted)) x = hn::Mul(x, lift);
                const VF y = hn::Min(hn::Max(hn::Mul(x, multiplier), least), most);
                const VU noise = kRounding == Rounding::nearest
                                     ? half
                                     : hn::Add(hn::ShiftRight<8>(random.next()), zero_level);
                fixed[k] = hn::Add(hn::BitCast(du, hn::NearestInt(y)), noise);
              }
              hn::StoreU(bytes_of<3>(fixed[0], fixed[1], fixed[2], fixed[3]), d8, out);
            });
      });
}

void levels_encode(std::span<const float> values, const Buckets& buckets, std::uint32_t u,
                   Rounding rounding, RandomStream stream, SymbolBlock symbols,
                   const Ahead& ahead) {
  if (rounding == Rounding::nearest) {
    encode_blocks<Rounding::nearest>(values, buckets, u, stream, symbols, ahead);
  } else {
    encode_blocks<Rounding::stochastic>(values, buckets, u, stream, symbols, ahead);
  }
}

template <class Write>
void decode_levels(ConstSymbolBlock symbols, const Buckets& buckets, std::uint32_t u,
                   std::span<float> target, const Ahead& ahead, Write write) {
  const F32 df;
  const I32 di;
  const hn::Rebind<std::uint8_t, I32> d8;
  const auto zero_level = hn::Set(di, static_cast<std::int32_t>(u));
  const VF unit = hn::Set(df, 1.0f / static_cast<float>(u));
  for_bucket_runs(
      target.size(), buckets, [&](std::size_t first, std::size_t count, float scale) HWY_ATTR {
        const VF vscale = hn::Set(df, scale);
        symbols_to_target(
            target.subspan(first, count), first, ahead, write, [&](std::size_t i) HWY_ATTR {
              const auto code = hn::PromoteTo(di, hn::LoadU(d8, symbols.data() + first + i));
              const VF level = hn::ConvertTo(df, hn::Sub(code, zero_level));
              return hn::Mul(hn::Mul(level, unit), vscale);
            });
      });
}

void levels_decode(ConstSymbolBlock symbols, const Buckets& buckets, std::uint32_t u,
                   std::span<float> target, const Ahead& ahead) {
  decode_levels(symbols, buckets, u, target, ahead, Assign{});
}

void levels_decode_add(ConstSymbolBlock symbols, const Buckets& buckets, std::uint32_t u,
                       float weight, std::span<float> target, const Ahead& ahead) {
  decode_levels(symbols, buckets, u, target, ahead, AddWeighted{weight});
}

#endif  // HWY_TARGET

}  // namespace gradwire::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradwire::kernel {

HWY_EXPORT(levels_encode);
HWY_EXPORT(levels_decode);
HWY_EXPORT(levels_decode_add);

void levels_encode(std::span<const float> values, const Buckets& buckets, std::uint32_t u,
                   Rounding rounding, RandomStream stream, SymbolBlock symbols,
                   const Ahead& ahead) {
  GW_CHECK(values.size() <= kBlockElements && u >= 1 && u <= 127);
  HWY_DYNAMIC_DISPATCH(levels_encode)(values, buckets, u, rounding, stream, symbols, ahead);
}

void levels_decode(ConstSymbolBlock symbols, const Buckets& buckets, std::uint32_t u,
                   std::span<float> target, const Ahead& ahead) {
  GW_CHECK(target.size() <= kBlockElements && u >= 1);
  HWY_DYNAMIC_DISPATCH(levels_decode)(symbols, buckets, u, target, ahead);
}

void levels_decode_add(ConstSymbolBlock symbols, const Buckets& buckets, std::uint32_t u,
                       float weight, std::span<float> target, const Ahead& ahead) {
  GW_CHECK(target.size() <= kBlockElements && u >= 1);
  HWY_DYNAMIC_DISPATCH(levels_decode_add)(symbols, buckets, u, weight, target, ahead);
}

namespace scalar {
namespace {

template <class Write>
void decode_levels(ConstSymbolBlock symbols, const Buckets& buckets, std::uint32_t u,
                   std::span<float> target, Write write) {
  const float unit = 1.0f / static_cast<float>(u);
  for_bucket_runs(target.size(), buckets, [&](std::size_t first, std::size_t count, float scale) {
    for (std::size_t j = first; j < first + count; ++j) {
      const int level = symbols[j] - static_cast<int>(u);
      write(target[j], static_cast<float>(level) * unit * scale);
    }
  });
}

}  // namespace

void levels_encode(std::span<const float> values, const Buckets& buckets, std::uint32_t u,
                   Rounding rounding, RandomStream stream, SymbolBlock symbols,
                   const Ahead& /*ahead*/) {
  for_bucket_runs(values.size(), buckets, [&](std::size_t first, std::size_t count, float scale) {
    const LevelFactor factor(scale, u);
    for (std::size_t j = first; j < first + count; ++j) {
      if (has_no_levels(scale)) {
        symbols[j] = static_cast<std::uint8_t>(u);
        continue;
      }
      const float y =
          std::clamp(values[j] * factor.lift * factor.factor, -factor.most, factor.most);
      const std::uint32_t noise =
          rounding == Rounding::nearest ? kHalf : stream.at(static_cast<std::uint32_t>(j)) >> 8;
      const auto fixed = static_cast<std::uint32_t>(std::lrint(y));
      symbols[j] = static_cast<std::uint8_t>((fixed + (u << 24) + noise) >> 24);
    }
  });
}

void levels_decode(ConstSymbolBlock symbols, const Buckets& buckets, std::uint32_t u,
                   std::span<float> target, const Ahead& /*ahead*/) {
  decode_levels(symbols, buckets, u, target, [](float& out, float value) { out = value; });
}

void levels_decode_add(ConstSymbolBlock symbols, const Buckets& buckets, std::uint32_t u,
                       float weight, std::span<float> target, const Ahead& /*ahead*/) {
  decode_levels(symbols, buckets, u, target,
                [weight](float& out, float value) { out += weight * value; });
}

}  // namespace scalar
}  // namespace gradwire::kernel
#endif  // HWY_ONCE
