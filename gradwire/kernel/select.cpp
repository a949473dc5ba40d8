#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gradwire/kernel/select.cpp"
#include "gradwire/kernel/select.h"

#include <hwy/foreach_target.h>

#include <bit>

#include "gradwire/core/check.h"
#include "gradwire/kernel/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradwire::kernel::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
using scalar::select_above;
using scalar::select_drawn;
#else

// Without branches: at one per cent, whether a vector has a hit is too hard to predict.
std::size_t select_above(std::span<const float> values, std::uint32_t threshold,
                         std::uint32_t first_index, std::span<std::uint32_t> indices,
                         const Ahead& ahead) {
  const U32 d;
  const VU vthreshold = hn::Set(d, threshold);
  VU index = hn::Iota(d, first_index);
  std::uint32_t* out = indices.data();
  for_groups(values, 0, ahead, [&](std::size_t, const float* in) HWY_ATTR {
    for (std::size_t k = 0; k < kGroup; k += kLanes) {
      const VU x = hn::BitCast(d, hn::LoadU(F32(), in + k));
      const auto above = hn::Gt(hn::And(x, hn::Set(d, kMagnitudeBits)), vthreshold);
      hn::StoreU(hn::Compress(index, above), d, out);
      out += hn::CountTrue(d, above);
      index = hn::Add(index, hn::Set(d, static_cast<std::uint32_t>(kLanes)));
    }
  });
  return static_cast<std::size_t>(out - indices.data());
}

std::size_t select_drawn(RandomStream draws, std::uint32_t last, std::size_t count,
                         std::uint32_t first_index, std::span<std::uint32_t> indices) {
  const U32 d;
  const VU vlast = hn::Set(d, last);
  RandomVectors random(draws, 0);
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
    if (draws.at(j) <= last) indices[found++] = first_index + j;
  }
  return found;
}

#endif  // HWY_TARGET

}  // namespace gradwire::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradwire::kernel {

HWY_EXPORT(select_above);
HWY_EXPORT(select_drawn);

std::size_t select_above(std::span<const float> values, std::uint32_t threshold,
                         std::uint32_t first_index, std::span<std::uint32_t> indices,
                         const Ahead& ahead) {
  GW_CHECK(values.size() <= kBlockElements && indices.size() >= values.size() + kSelectRoom);
  return HWY_DYNAMIC_DISPATCH(select_above)(values, threshold, first_index, indices, ahead);
}

std::size_t select_drawn(RandomStream draws, std::uint32_t last, std::size_t count,
                         std::uint32_t first_index, std::span<std::uint32_t> indices) {
  GW_CHECK(count <= kBlockElements && indices.size() >= count + kSelectRoom);
  return HWY_DYNAMIC_DISPATCH(select_drawn)(draws, last, count, first_index, indices);
}

namespace scalar {

std::size_t select_above(std::span<const float> values, std::uint32_t threshold,
                         std::uint32_t first_index, std::span<std::uint32_t> indices,
                         const Ahead& /*ahead*/) {
  std::size_t found = 0;
  for (std::size_t j = 0; j < values.size(); ++j) {
    if ((std::bit_cast<std::uint32_t>(values[j]) & 0x7fffffffu) <= threshold) continue;
    indices[found++] = first_index + static_cast<std::uint32_t>(j);
  }
  return found;
}

std::size_t select_drawn(RandomStream draws, std::uint32_t last, std::size_t count,
                         std::uint32_t first_index, std::span<std::uint32_t> indices) {
  std::size_t found = 0;
  for (std::uint32_t j = 0; j < count; ++j) {
    if (draws.at(j) <= last) indices[found++] = first_index + j;
  }
  return found;
}

}  // namespace scalar
}  // namespace gradwire::kernel
#endif  // HWY_ONCE
