#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gradwire/kernel/signs.cpp"
#include "gradwire/kernel/signs.h"

#include <hwy/foreach_target.h>

#include <cmath>

#include "gradwire/core/check.h"
#include "gradwire/kernel/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradwire::kernel::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
using scalar::signs_decode;
using scalar::signs_decode_add;
using scalar::signs_encode;
#else

void signs_encode(std::span<const float> values, BitBlock signs, const Ahead& ahead) {
  const U32 d;
  for_groups(values, 0, ahead, [&](std::size_t i, const float* in) HWY_ATTR {
    const auto vector = [&](std::size_t k)
                            HWY_ATTR { return hn::BitCast(d, hn::LoadU(F32(), in + k * kLanes)); };
    store_signs(vector(0), vector(1), vector(2), vector(3), signs.data() + i / 8);
  });
}

template <class Write>
void decode_signs(ConstBitBlock signs, float scale, std::span<float> target, const Ahead& ahead,
                  Write write) {
  const VU size = hn::BitCast(U32(), hn::Set(F32(), scale));
  symbols_to_target(target, 0, ahead, write, [&](std::size_t i) HWY_ATTR {
    return hn::BitCast(F32(), hn::Xor(size, load_signs(signs.data(), i)));
  });
}

void signs_decode(ConstBitBlock signs, float scale, std::span<float> target, const Ahead& ahead) {
  decode_signs(signs, scale, target, ahead, Assign{});
}

void signs_decode_add(ConstBitBlock signs, float scale, float weight, std::span<float> target,
                      const Ahead& ahead) {
  decode_signs(signs, scale, target, ahead, AddWeighted{weight});
}

#endif  // HWY_TARGET

}  // namespace gradwire::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradwire::kernel {

HWY_EXPORT(signs_encode);
HWY_EXPORT(signs_decode);
HWY_EXPORT(signs_decode_add);

void signs_encode(std::span<const float> values, BitBlock signs, const Ahead& ahead) {
  GW_CHECK(values.size() <= kBlockElements);
  HWY_DYNAMIC_DISPATCH(signs_encode)(values, signs, ahead);
}

void signs_decode(ConstBitBlock signs, float scale, std::span<float> target, const Ahead& ahead) {
  GW_CHECK(target.size() <= kBlockElements);
  HWY_DYNAMIC_DISPATCH(signs_decode)(signs, scale, target, ahead);
}

void signs_decode_add(ConstBitBlock signs, float scale, float weight, std::span<float> target,
                      const Ahead& ahead) {
  GW_CHECK(target.size() <= kBlockElements);
  HWY_DYNAMIC_DISPATCH(signs_decode_add)(signs, scale, weight, target, ahead);
}

namespace scalar {
namespace {

float value_of(ConstBitBlock signs, float scale, std::size_t j) {
  return signs[j / 8] >> (j % 8) & 1 ? -scale : scale;
}

}  // namespace

void signs_encode(std::span<const float> values, BitBlock signs, const Ahead& /*ahead*/) {
  for (std::size_t j = 0; j < values.size(); ++j) {
    if (j % 8 == 0) signs[j / 8] = 0;
    if (std::signbit(values[j])) {
      signs[j / 8] = static_cast<std::uint8_t>(signs[j / 8] | 1u << (j % 8));
    }
  }
}

void signs_decode(ConstBitBlock signs, float scale, std::span<float> target,
                  const Ahead& /*ahead*/) {
  for (std::size_t j = 0; j < target.size(); ++j) target[j] = value_of(signs, scale, j);
}

void signs_decode_add(ConstBitBlock signs, float scale, float weight, std::span<float> target,
                      const Ahead& /*ahead*/) {
  for (std::size_t j = 0; j < target.size(); ++j) target[j] += weight * value_of(signs, scale, j);
}

}  // namespace scalar
}  // namespace gradwire::kernel
#endif  // HWY_ONCE
