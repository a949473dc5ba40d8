#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gradwire/kernel/two_levels.cpp"
#include "gradwire/kernel/two_levels.h"

#include <hwy/foreach_target.h>

#include <bit>
#include <cmath>
#include <limits>

#include "gradwire/core/check.h"
#include "gradwire/kernel/simd-inl.h"
#include "gradwire/kernel/sums.h"

#ifndef GRADWIRE_KERNEL_TWO_LEVELS_ONCE
#define GRADWIRE_KERNEL_TWO_LEVELS_ONCE
namespace gradwire::kernel {

// Of the magnitudes on each side of a border, over the 16 virtual lanes of sums.h.
struct SideSums {
  double lower[kVirtualLanes] = {};
  double upper[kVirtualLanes] = {};
  std::uint64_t above = 0;  // how many are

  static double fold(double (&lanes)[kVirtualLanes]) {
    for (std::size_t width = kVirtualLanes / 2; width > 0; width /= 2) {
      for (std::size_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
    }
    return lanes[0];
  }
};

// `sum` finds the sum of magnitudes of a block, `sides` the sums on each side of a border.
template <class Sum, class Sides>
TwoLevels find_two_levels(std::span<const float> values, const Sum& sum, const Sides& sides) {
  if (values.empty()) return {};
  double total = 0;
  std::uint32_t largest = 0;
  for_blocks(values, [&](std::size_t, std::span<const float> block, const Ahead&) {
    const MagnitudeSum part = sum(block);
    total += part.sum;
    largest = part.largest > largest ? part.largest : largest;
  });
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  if (!is_finite_magnitude(largest)) return {kNaN, kNaN};
  const auto border = static_cast<float>(total / static_cast<double>(values.size()));
  double lower = 0, upper = 0;
  std::uint64_t above = 0;
  for_blocks(values, [&](std::size_t, std::span<const float> block, const Ahead&) {
    SideSums part = sides(block, border);
    lower += SideSums::fold(part.lower);
    upper += SideSums::fold(part.upper);
    above += part.above;
  });
  const std::uint64_t below = values.size() - above;
  TwoLevels levels;
  if (below > 0) levels.lower = static_cast<float>(lower / static_cast<double>(below));
  levels.upper = above > 0 ? static_cast<float>(upper / static_cast<double>(above)) : levels.lower;
  return levels;
}

}  // namespace gradwire::kernel
#endif

HWY_BEFORE_NAMESPACE();
namespace gradwire::kernel::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
using scalar::two_levels_decode;
using scalar::two_levels_decode_add;
using scalar::two_levels_encode;
using scalar::two_levels_of;
#else

using F64 = hn::CappedTag<double, kVirtualLanes>;
inline constexpr std::size_t kDoubles = hn::MaxLanes(F64());
inline constexpr std::size_t kParts = kVirtualLanes / kDoubles;

SideSums sum_sides(std::span<const float> values, float border) {
  const F64 d;
  const hn::Rebind<float, F64> df;
  const auto vborder = hn::Set(d, double{border});
  hn::Vec<F64> lower[kParts], upper[kParts];
  for (std::size_t part = 0; part < kParts; ++part) lower[part] = upper[part] = hn::Zero(d);
  SideSums sums;
  for_groups(values, 0, {}, [&](std::size_t, const float* in) HWY_ATTR {
    for (std::size_t i = 0; i < kGroup; i += kDoubles) {
      const std::size_t part = i / kDoubles % kParts;
      const auto size = hn::Abs(hn::PromoteTo(d, hn::LoadU(df, in + i)));
      const auto is_above = hn::Gt(size, vborder);
      lower[part] = hn::Add(lower[part], hn::IfThenZeroElse(is_above, size));
      upper[part] = hn::Add(upper[part], hn::IfThenElseZero(is_above, size));
      sums.above += hn::CountTrue(d, is_above);
    }
  });
  for (std::size_t part = 0; part < kParts; ++part) {
    hn::StoreU(lower[part], d, sums.lower + part * kDoubles);
    hn::StoreU(upper[part], d, sums.upper + part * kDoubles);
  }
  return sums;
}

TwoLevels two_levels_of(std::span<const float> values) {
  return find_two_levels(
      values, [](std::span<const float> block) { return sum_magnitudes(block, {}); }, sum_sides);
}

void two_levels_encode(std::span<const float> values, const TwoLevels& levels,
                       std::span<std::uint8_t> symbols, const Ahead& ahead) {
  const F32 df;
  const U32 du;
  const VF border = hn::Set(df, levels.between());
  values_to_symbols(
      values, symbols.data(), 0, ahead, [&](const float* in, std::uint8_t* out) HWY_ATTR {
        VU symbol[4];
        for (std::size_t k = 0; k < 4; ++k) {
          const VF x = hn::LoadU(df, in + k * kLanes);
          const auto is_upper = hn::RebindMask(du, hn::Gt(hn::Abs(x), border));
          const VU sign = hn::ShiftRight<30>(hn::And(hn::BitCast(du, x), hn::Set(du, kSignBit)));
          symbol[k] = hn::Or(sign, hn::IfThenElseZero(is_upper, hn::Set(du, 1)));
        }
        hn::StoreU(bytes_of<0>(symbol[0], symbol[1], symbol[2], symbol[3]), U8(), out);
      });
}

template <class Write>
void decode_two_levels(const std::uint8_t* symbols, const TwoLevels& levels,
                       std::span<float> target, const Ahead& ahead, Write write) {
  const F32 df;
  const U32 du;
  const hn::Rebind<std::uint8_t, U32> d8;
  const VU lower = hn::BitCast(du, hn::Set(df, levels.lower));
  const VU upper = hn::BitCast(du, hn::Set(df, levels.upper));
  symbols_to_target(target, 0, ahead, write, [&](std::size_t i) HWY_ATTR {
    const VU symbol = hn::PromoteTo(du, hn::LoadU(d8, symbols + i));
    const auto is_upper = hn::Ne(hn::And(symbol, hn::Set(du, 1)), hn::Zero(du));
    const VU sign = hn::And(hn::ShiftLeft<30>(symbol), hn::Set(du, kSignBit));
    return hn::BitCast(df, hn::Xor(hn::IfThenElse(is_upper, upper, lower), sign));
  });
}

void two_levels_decode(const std::uint8_t* symbols, const TwoLevels& levels,
                       std::span<float> target, const Ahead& ahead) {
  decode_two_levels(symbols, levels, target, ahead, Assign{});
}

void two_levels_decode_add(const std::uint8_t* symbols, const TwoLevels& levels, float weight,
                           std::span<float> target, const Ahead& ahead) {
  decode_two_levels(symbols, levels, target, ahead, AddWeighted{weight});
}

#endif  // HWY_TARGET

}  // namespace gradwire::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradwire::kernel {

HWY_EXPORT(two_levels_of);
HWY_EXPORT(two_levels_encode);
HWY_EXPORT(two_levels_decode);
HWY_EXPORT(two_levels_decode_add);

TwoLevels two_levels_of(std::span<const float> values) {
  return HWY_DYNAMIC_DISPATCH(two_levels_of)(values);
}

void two_levels_encode(std::span<const float> values, const TwoLevels& levels,
                       std::span<std::uint8_t> symbols, const Ahead& ahead) {
  GW_CHECK(values.size() <= kBlockElements && symbols.size() >= values.size());
  HWY_DYNAMIC_DISPATCH(two_levels_encode)(values, levels, symbols, ahead);
}

void two_levels_decode(const std::uint8_t* symbols, const TwoLevels& levels,
                       std::span<float> target, const Ahead& ahead) {
  GW_CHECK(target.size() <= kBlockElements);
  HWY_DYNAMIC_DISPATCH(two_levels_decode)(symbols, levels, target, ahead);
}

void two_levels_decode_add(const std::uint8_t* symbols, const TwoLevels& levels, float weight,
                           std::span<float> target, const Ahead& ahead) {
  GW_CHECK(target.size() <= kBlockElements);
  HWY_DYNAMIC_DISPATCH(two_levels_decode_add)(symbols, levels, weight, target, ahead);
}

namespace scalar {
namespace {

float value_of(std::uint8_t symbol, const TwoLevels& levels) {
  const float size = (symbol & 1) != 0 ? levels.upper : levels.lower;
  return (symbol & 2) != 0 ? -size : size;
}

SideSums sum_sides(std::span<const float> values, float border) {
  SideSums sums;
  for (std::size_t j = 0; j < values.size(); ++j) {
    const float size = std::fabs(values[j]);
    (size > border ? sums.upper : sums.lower)[j % kVirtualLanes] += double{size};
    sums.above += size > border ? 1 : 0;
  }
  return sums;
}

}  // namespace

TwoLevels two_levels_of(std::span<const float> values) {
  return find_two_levels(
      values, [](std::span<const float> block) { return scalar::sum_magnitudes(block, {}); },
      sum_sides);
}

void two_levels_encode(std::span<const float> values, const TwoLevels& levels,
                       std::span<std::uint8_t> symbols, const Ahead& /*ahead*/) {
  for (std::size_t j = 0; j < values.size(); ++j) {
    const unsigned sign = std::signbit(values[j]) ? 2 : 0;
    const unsigned upper = std::fabs(values[j]) > levels.between() ? 1 : 0;
    symbols[j] = static_cast<std::uint8_t>(sign | upper);
  }
}

void two_levels_decode(const std::uint8_t* symbols, const TwoLevels& levels,
                       std::span<float> target, const Ahead& /*ahead*/) {
  for (std::size_t j = 0; j < target.size(); ++j) target[j] = value_of(symbols[j], levels);
}

void two_levels_decode_add(const std::uint8_t* symbols, const TwoLevels& levels, float weight,
                           std::span<float> target, const Ahead& /*ahead*/) {
  for (std::size_t j = 0; j < target.size(); ++j) {
    target[j] += weight * value_of(symbols[j], levels);
  }
}

}  // namespace scalar
}  // namespace gradwire::kernel
#endif  // HWY_ONCE
