#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gradwire/kernel/select.cpp"
#include <hwy/foreach_target.h>

#include "gradwire/kernel/select.h"

#include <bit>

#include "gradwire/core/check.h"
#include "gradwire/kernel/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradwire::kernel::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
using scalar::select_above;
using scalar::select_places;
#else

std::size_t select_above(std::span<const float> values, std::uint32_t threshold,
                         std::uint32_t first_index, std::span<std::uint32_t> indices,
                         std::span<float> kept, const Ahead& ahead) {
  const F32 df;
  const U32 du;
  const VU vthreshold = hn::Set(du, threshold);
  const VU lanes = hn::Iota(du, 0);
  std::size_t found = 0;
  const auto is_above = [&](VF x) HWY_ATTR {
    const VU magnitude = hn::And(hn::BitCast(du, x), hn::Set(du, kMagnitudeBits));
    return hn::Gt(magnitude, vthreshold);
  };
  const auto keep = [&](std::size_t i, VF x) HWY_ATTR {
    const auto above = is_above(x);
    const VU index = hn::Add(lanes, hn::Set(du, first_index + static_cast<std::uint32_t>(i)));
    hn::CompressStore(index, above, du, indices.data() + found);
    found += hn::CompressStore(x, hn::RebindMask(df, above), df, kept.data() + found);
  };
  std::size_t i = 0;
  for (; i + kGroup <= values.size(); i += kGroup) {
    prefetch(ahead, i);
    const float* in = values.data() + i;
    const VF v0 = hn::LoadU(df, in), v1 = hn::LoadU(df, in + kLanes);
    const VF v2 = hn::LoadU(df, in + 2 * kLanes), v3 = hn::LoadU(df, in + 3 * kLanes);
    const auto any =
        hn::Or(hn::Or(is_above(v0), is_above(v1)), hn::Or(is_above(v2), is_above(v3)));
    if (HWY_LIKELY(hn::AllFalse(du, any))) continue;
    keep(i, v0);
    keep(i + kLanes, v1);
    keep(i + 2 * kLanes, v2);
    keep(i + 3 * kLanes, v3);
  }
  for (; i < values.size(); ++i) {
    const float x = values[i];
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof(bits));
    if ((bits & kMagnitudeBits) <= threshold) continue;
    indices[found] = first_index + static_cast<std::uint32_t>(i);
    kept[found++] = x;
  }
  return found;
}

std::size_t select_places(RandomStream places, std::uint32_t last, std::size_t count,
                          std::uint32_t first_index, std::span<std::uint32_t> indices) {
  const U32 d;
  const VU vlast = hn::Set(d, last);
  RandomVectors random(places, 0);
  std::size_t found = 0;
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const VU place = random.next();
    const auto is_kept = hn::Eq(hn::Min(place, vlast), place);
    if (HWY_LIKELY(hn::AllFalse(d, is_kept))) continue;
    const VU index = hn::Iota(d, first_index + static_cast<std::uint32_t>(i));
    found += hn::CompressStore(index, is_kept, d, indices.data() + found);
  }
  for (; i < count; ++i) {
    const auto j = static_cast<std::uint32_t>(i);
    if (places.at(j) <= last) indices[found++] = first_index + j;
  }
  return found;
}

#endif  // HWY_TARGET

}  // namespace gradwire::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradwire::kernel {

HWY_EXPORT(select_above);
HWY_EXPORT(select_places);

std::size_t select_above(std::span<const float> values, std::uint32_t threshold,
                         std::uint32_t first_index, std::span<std::uint32_t> indices,
                         std::span<float> kept, const Ahead& ahead) {
  GW_CHECK(values.size() <= kBlockElements);
  GW_CHECK(indices.size() >= values.size() + kSelectRoom && kept.size() >= indices.size());
  return HWY_DYNAMIC_DISPATCH(select_above)(values, threshold, first_index, indices, kept, ahead);
}

std::size_t select_places(RandomStream places, std::uint32_t last, std::size_t count,
                          std::uint32_t first_index, std::span<std::uint32_t> indices) {
  GW_CHECK(count <= kBlockElements && indices.size() >= count + kSelectRoom);
  return HWY_DYNAMIC_DISPATCH(select_places)(places, last, count, first_index, indices);
}

namespace scalar {

std::size_t select_above(std::span<const float> values, std::uint32_t threshold,
                         std::uint32_t first_index, std::span<std::uint32_t> indices,
                         std::span<float> kept, const Ahead& /*ahead*/) {
  std::size_t found = 0;
  for (std::size_t j = 0; j < values.size(); ++j) {
    if ((std::bit_cast<std::uint32_t>(values[j]) & 0x7fffffffu) <= threshold) continue;
    indices[found] = first_index + static_cast<std::uint32_t>(j);
    kept[found++] = values[j];
  }
  return found;
}

std::size_t select_places(RandomStream places, std::uint32_t last, std::size_t count,
                          std::uint32_t first_index, std::span<std::uint32_t> indices) {
  std::size_t found = 0;
  for (std::uint32_t j = 0; j < count; ++j) {
    if (places.at(j) <= last) indices[found++] = first_index + j;
  }
  return found;
}

}  // namespace scalar
}  // namespace gradwire::kernel
#endif  // HWY_ONCE
