#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gradwire/kernel/natural.cpp"
#include <hwy/foreach_target.h>

#include "gradwire/kernel/natural.h"

#include <bit>

#include "gradwire/core/check.h"
#include "gradwire/kernel/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradwire::kernel::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
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
  // rules of their own: they may show as an exponent of 1 or 255, or a NaN as a carry into its sign.
  // Then the block is done again by the rules.
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
HWY_EXPORT(natural_decode);
HWY_EXPORT(natural_decode_add);

bool natural_encode(std::span<const float> values, RandomStream stream, SymbolBlock exponents,
                    BitBlock signs, const Ahead& ahead) {
  GW_CHECK(values.size() <= kBlockElements);
  return HWY_DYNAMIC_DISPATCH(natural_encode)(values, stream, exponents, signs, ahead);
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
