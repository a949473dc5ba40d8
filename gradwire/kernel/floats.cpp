#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gradwire/kernel/floats.cpp"
#include "gradwire/kernel/floats.h"

#include <hwy/foreach_target.h>

#include <algorithm>
#include <bit>

#include "gradwire/core/check.h"
#include "gradwire/kernel/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradwire::kernel::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
using scalar::add_scaled;
using scalar::add_weighted;
using scalar::copy_floats;
#else

bool copy_floats(std::span<const float> source, float* target, const Ahead& ahead) {
  const U32 d;
  VU largest = hn::Zero(d);
  for_groups(source, 0, ahead, [&](std::size_t i, const float* in) HWY_ATTR {
    for (std::size_t k = 0; k < kGroup; k += kLanes) {
      const VF x = hn::LoadU(F32(), in + k);
      largest = hn::Max(largest, hn::And(hn::BitCast(d, x), hn::Set(d, kMagnitudeBits)));
      hn::StoreU(x, F32(), target + i + k);
    }
  });
  return hn::GetLane(hn::MaxOfLanes(d, largest)) < kInfinityBits;
}

void add_weighted(std::span<const float> source, float weight, std::span<float> target,
                  const Ahead& ahead) {
  const F32 d;
  const AddWeighted add{weight};
  for_groups(source, 0, ahead, [&](std::size_t i, const float* in) HWY_ATTR {
    if (i + kGroup > target.size()) {
      scalar::add_weighted(source.subspan(i), weight, target.subspan(i), ahead);
      return;
    }
    for (std::size_t k = 0; k < kGroup; k += kLanes) {
      float* out = target.data() + i + k;
      hn::StoreU(add(hn::LoadU(d, out), hn::LoadU(d, in + k)), d, out);
    }
  });
}

std::uint32_t add_scaled(std::span<const float> sum, std::span<const float> source, float weight,
                         float factor, std::span<float> target) {
  const F32 d;
  const U32 bits;
  const AddWeighted add{weight};
  VU largest = hn::Zero(bits);
  std::size_t i = 0;
  for (; i + kLanes <= target.size(); i += kLanes) {
    const VF x = hn::Mul(add(hn::LoadU(d, sum.data() + i), hn::LoadU(d, source.data() + i)),
                         hn::Set(d, factor));
    hn::StoreU(x, d, target.data() + i);
    largest = hn::Max(largest, hn::And(hn::BitCast(bits, x), hn::Set(bits, kMagnitudeBits)));
  }
  const std::uint32_t rest =
      scalar::add_scaled(sum.subspan(i), source.subspan(i), weight, factor, target.subspan(i));
  return HWY_MAX(hn::GetLane(hn::MaxOfLanes(bits, largest)), rest);
}

#endif  // HWY_TARGET

}  // namespace gradwire::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradwire::kernel {

HWY_EXPORT(copy_floats);
HWY_EXPORT(add_weighted);
HWY_EXPORT(add_scaled);

bool copy_floats(std::span<const float> source, float* target, const Ahead& ahead) {
  GW_CHECK(source.size() <= kBlockElements);
  return HWY_DYNAMIC_DISPATCH(copy_floats)(source, target, ahead);
}

void add_weighted(std::span<const float> source, float weight, std::span<float> target,
                  const Ahead& ahead) {
  GW_CHECK(source.size() == target.size());
  HWY_DYNAMIC_DISPATCH(add_weighted)(source, weight, target, ahead);
}

std::uint32_t add_scaled(std::span<const float> sum, std::span<const float> source, float weight,
                         float factor, std::span<float> target) {
  GW_CHECK(sum.size() == target.size() && source.size() == target.size());
  return HWY_DYNAMIC_DISPATCH(add_scaled)(sum, source, weight, factor, target);
}

namespace scalar {

std::uint32_t add_scaled(std::span<const float> sum, std::span<const float> source, float weight,
                         float factor, std::span<float> target) {
  std::uint32_t largest = 0;
  for (std::size_t j = 0; j < target.size(); ++j) {
    target[j] = (sum[j] + weight * source[j]) * factor;
    largest = std::max(largest, std::bit_cast<std::uint32_t>(target[j]) & 0x7fffffffu);
  }
  return largest;
}

bool copy_floats(std::span<const float> source, float* target, const Ahead& /*ahead*/) {
  std::uint32_t largest = 0;
  for (std::size_t j = 0; j < source.size(); ++j) {
    largest = std::max(largest, std::bit_cast<std::uint32_t>(source[j]) & 0x7fffffffu);
    target[j] = source[j];
  }
  return largest < 0x7f800000u;
}

void add_weighted(std::span<const float> source, float weight, std::span<float> target,
                  const Ahead& /*ahead*/) {
  for (std::size_t j = 0; j < target.size(); ++j) target[j] += weight * source[j];
}

}  // namespace scalar
}  // namespace gradwire::kernel
#endif  // HWY_ONCE
