#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gradwire/kernel/select.cpp"
#include "gradwire/kernel/select.h"

#include <hwy/foreach_target.h>

#include <bit>

#include "gradwire/core/check.h"
#include "gradwire/kernel/simd-inl.h"

#ifndef GRADWIRE_KERNEL_SELECT_ONCE
#define GRADWIRE_KERNEL_SELECT_ONCE
namespace gradwire::kernel {

// The places of the bits that are set in a byte, in order. The rest of a row is not used.
struct BitPlaces {
  alignas(64) std::uint8_t of[256][8] = {};
  constexpr BitPlaces() {
    for (unsigned byte = 0; byte < 256; ++byte) {
      unsigned count = 0;
      for (unsigned bit = 0; bit < 8; ++bit) {
        if (byte >> bit & 1) of[byte][count++] = static_cast<std::uint8_t>(bit);
      }
    }
  }
};
inline constexpr BitPlaces kBitPlaces;

}  // namespace gradwire::kernel
#endif

HWY_BEFORE_NAMESPACE();
namespace gradwire::kernel::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
using scalar::select_above;
using scalar::select_drawn;
#else

// Writes the index first + j for each lane j of the mask, in order, and as many elements as a
// vector has. Returns the place behind the last index. `lanes` are the numbers of the lanes.
// Without branches: at one per cent, whether a vector has a hit is too hard to predict.
template <class Mask>
HWY_INLINE std::uint32_t* put_indices(Mask mask, [[maybe_unused]] VU lanes, std::uint32_t first,
                                      std::uint32_t* out) {
  const U32 d;
#if HWY_TARGET <= HWY_AVX3
  hn::StoreU(hn::Compress(hn::Add(lanes, hn::Set(d, first)), mask), d, out);
  return out + hn::CountTrue(d, mask);
#else
  // Compress copies a table of a kilobyte here at every call: GCC keeps Highway's on the stack.
  std::uint8_t bits[8];
  hn::StoreMaskBits(d, mask, bits);
  const std::uint8_t* const places = kBitPlaces.of[bits[0]];
  const hn::Rebind<std::uint8_t, U32> d8;
  hn::StoreU(hn::Add(hn::PromoteTo(d, hn::LoadU(d8, places)), hn::Set(d, first)), d, out);
  return out + hn::CountTrue(d, mask);
#endif
}

std::size_t select_above(std::span<const float> values, std::uint32_t threshold,
                         std::uint32_t first_index, std::span<std::uint32_t> indices,
                         const Ahead& ahead) {
  const U32 d;
  const I32 di;  // without the sign, magnitudes compare as signed numbers do
  const auto vthreshold = hn::Set(di, static_cast<std::int32_t>(threshold));
  const VU lanes = hn::Iota(d, 0);
  std::uint32_t* out = indices.data();
  for_groups(values, 0, ahead, [&](std::size_t i, const float* in) HWY_ATTR {
    for (std::size_t k = 0; k < kGroup; k += kLanes) {
      const VU x = hn::BitCast(d, hn::LoadU(F32(), in + k));
      const VU size = hn::And(x, hn::Set(d, kMagnitudeBits));
      const auto above = hn::RebindMask(d, hn::Gt(hn::BitCast(di, size), vthreshold));
      out = put_indices(above, lanes, first_index + static_cast<std::uint32_t>(i + k), out);
    }
  });
  return static_cast<std::size_t>(out - indices.data());
}

std::size_t select_drawn(RandomStream draws, std::uint32_t last, std::size_t count,
                         std::uint32_t first_index, std::span<std::uint32_t> indices,
                         const Ahead& ahead) {
  const U32 d;
  const VU lanes = hn::Iota(d, 0);
  const VU vlast = hn::Set(d, last);
  RandomVectors random(draws, 0);
  std::uint32_t* out = indices.data();
  std::size_t i = 0;
  for (; i + kGroup <= count; i += kGroup) {
    prefetch(ahead, i);
    for (std::size_t k = i; k < i + kGroup; k += kLanes) {
      const VU place = random.next();
      const auto is_kept = hn::Eq(hn::Min(place, vlast), place);
      out = put_indices(is_kept, lanes, first_index + static_cast<std::uint32_t>(k), out);
    }
  }
  for (; i < count; ++i) {
    const auto j = static_cast<std::uint32_t>(i);
    if (draws.at(j) <= last) *out++ = first_index + j;
  }
  return static_cast<std::size_t>(out - indices.data());
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
  GW_CHECK(threshold <= 0x7fffffffu);
  return HWY_DYNAMIC_DISPATCH(select_above)(values, threshold, first_index, indices, ahead);
}

std::size_t select_drawn(RandomStream draws, std::uint32_t last, std::size_t count,
                         std::uint32_t first_index, std::span<std::uint32_t> indices,
                         const Ahead& ahead) {
  GW_CHECK(count <= kBlockElements && indices.size() >= count + kSelectRoom);
  return HWY_DYNAMIC_DISPATCH(select_drawn)(draws, last, count, first_index, indices, ahead);
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
                         std::uint32_t first_index, std::span<std::uint32_t> indices,
                         const Ahead& /*ahead*/) {
  std::size_t found = 0;
  for (std::uint32_t j = 0; j < count; ++j) {
    if (draws.at(j) <= last) indices[found++] = first_index + j;
  }
  return found;
}

}  // namespace scalar
}  // namespace gradwire::kernel
#endif  // HWY_ONCE
