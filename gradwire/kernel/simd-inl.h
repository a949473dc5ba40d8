// Code that the kernels share. It is compiled once for each Highway target. Only kernel sources
// include it, inside their own target toggles.

#if defined(GRADWIRE_KERNEL_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GRADWIRE_KERNEL_SIMD_INL_H_
#undef GRADWIRE_KERNEL_SIMD_INL_H_
#else
#define GRADWIRE_KERNEL_SIMD_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "gradwire/core/random.h"
#include "gradwire/kernel/block.h"

// Highway's one-lane target does not need this: its kernels are the scalar twins.
#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace gradwire::kernel::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::CappedTag<float, kVirtualLanes>;
using U32 = hn::RebindToUnsigned<F32>;
using I32 = hn::RebindToSigned<F32>;
using U16 = hn::Rebind<std::uint16_t, F32>;  // as many lanes as F32
using VF = hn::Vec<F32>;
using VU = hn::Vec<U32>;

inline constexpr std::size_t kLanes = hn::MaxLanes(F32());
// Kernels step by four vectors, which make one full vector of bytes.
inline constexpr std::size_t kGroup = 4 * kLanes;
using U8 = hn::CappedTag<std::uint8_t, kGroup>;
using VB = hn::Vec<U8>;

static_assert(kBlockElements % kGroup == 0);
static_assert(hn::MaxLanes(U8()) == kGroup);

inline constexpr std::uint32_t kSignBit = 0x80000000u;
inline constexpr std::uint32_t kMagnitudeBits = 0x7fffffffu;
inline constexpr std::uint32_t kInfinityBits = 0x7f800000u;

// The numbers of a stream, one vector after the other: RandomStream::mix of counters. The first
// factor 2x + kOdd1 counts along with x.
class RandomVectors {
 public:
  HWY_INLINE RandomVectors(RandomStream stream, std::size_t first)
      : counter_(hn::Add(hn::Set(U32(), stream.advanced(first).offset),
                         hn::Mul(hn::Iota(U32(), 0), hn::Set(U32(), stream.step)))),
        factor_(hn::Add(hn::Add(counter_, counter_), hn::Set(U32(), RandomStream::kOdd1))),
        stride_(hn::Set(U32(), stream.step * static_cast<std::uint32_t>(kLanes))) {}

  HWY_INLINE VU next() {
    VU x = hn::Mul(counter_, factor_);
    counter_ = hn::Add(counter_, stride_);
    factor_ = hn::Add(factor_, hn::Add(stride_, stride_));
    x = hn::Xor(x, hn::ShiftRight<13>(x));
    return hn::Mul(x, hn::Add(hn::Add(x, x), hn::Set(U32(), RandomStream::kOdd2)));
  }

 private:
  VU counter_;
  VU factor_;
  VU stride_;
};

// Prefetches the share of `ahead` that belongs to elements i to i + kGroup of this block.
HWY_INLINE void prefetch(const Ahead& ahead, std::size_t i) {
  constexpr std::size_t kLineBytes = 64;
  constexpr std::size_t kLineElements = kLineBytes / sizeof(float);
  if (ahead.block == nullptr) return;
  const std::size_t line = i / kLineElements;
  const char* block = static_cast<const char*>(ahead.block) + line % kBlockPages * kPageBytes +
                      line / kBlockPages * kLineBytes;
  for (std::size_t k = 0; k < kGroup / kLineElements; ++k) {
    __builtin_prefetch(block + k * kPageBytes);
  }
  const char* bytes = static_cast<const char*>(ahead.bytes) + i * ahead.bytes_per_64 / 64;
  for (std::size_t k = 0; k < ahead.bytes_per_64; k += kLineBytes) __builtin_prefetch(bytes + k);
}

// One byte of each lane of four vectors, in order.
template <int kByte>
HWY_INLINE VB bytes_of(VU v0, VU v1, VU v2, VU v3) {
  const U8 d8;
  const U32 d32;
  constexpr std::uint8_t o = 0x80;
  constexpr std::uint8_t a = kByte, b = 4 + kByte, c = 8 + kByte, d = 12 + kByte;
  alignas(16) static constexpr std::uint8_t kTo0[16] = {a, b, c, d, o, o, o, o,
                                                        o, o, o, o, o, o, o, o};
  alignas(16) static constexpr std::uint8_t kTo1[16] = {o, o, o, o, a, b, c, d,
                                                        o, o, o, o, o, o, o, o};
  alignas(16) static constexpr std::uint8_t kTo2[16] = {o, o, o, o, o, o, o, o,
                                                        a, b, c, d, o, o, o, o};
  alignas(16) static constexpr std::uint8_t kTo3[16] = {o, o, o, o, o, o, o, o,
                                                        o, o, o, o, a, b, c, d};
  const VB w0 = hn::TableLookupBytesOr0(hn::BitCast(d8, v0), hn::LoadDup128(d8, kTo0));
  const VB w1 = hn::TableLookupBytesOr0(hn::BitCast(d8, v1), hn::LoadDup128(d8, kTo1));
  const VB w2 = hn::TableLookupBytesOr0(hn::BitCast(d8, v2), hn::LoadDup128(d8, kTo2));
  const VB w3 = hn::TableLookupBytesOr0(hn::BitCast(d8, v3), hn::LoadDup128(d8, kTo3));
  const VB all = hn::Or(hn::Or(w0, w1), hn::Or(w2, w3));
  if constexpr (kLanes == 4) {
    return all;
  } else {
    // Every 128-bit block holds four elements of each vector; bring those of one vector together.
    constexpr std::uint32_t kBlocks = kLanes / 4;
    alignas(64) std::uint32_t order[kLanes];
    for (std::uint32_t i = 0; i < kLanes; ++i) order[i] = i % kBlocks * 4 + i / kBlocks;
    return hn::BitCast(
        d8, hn::TableLookupLanes(hn::BitCast(d32, all), hn::SetTableIndices(d32, order)));
  }
}

// The sign bits of four vectors, element j as bit j mod 8 of byte j / 8.
HWY_INLINE void store_signs(VU v0, VU v1, VU v2, VU v3, std::uint8_t* bits) {
  const I32 d;
  const auto zero = hn::Zero(d);
  const auto m0 = hn::Lt(hn::BitCast(d, v0), zero);
  const auto m1 = hn::Lt(hn::BitCast(d, v1), zero);
  const auto m2 = hn::Lt(hn::BitCast(d, v2), zero);
  const auto m3 = hn::Lt(hn::BitCast(d, v3), zero);
  if constexpr (kLanes >= 8) {
    hn::StoreMaskBits(d, m0, bits);
    hn::StoreMaskBits(d, m1, bits + kLanes / 8);
    hn::StoreMaskBits(d, m2, bits + 2 * kLanes / 8);
    hn::StoreMaskBits(d, m3, bits + 3 * kLanes / 8);
  } else {
    std::uint8_t half[4][8];
    hn::StoreMaskBits(d, m0, half[0]);
    hn::StoreMaskBits(d, m1, half[1]);
    hn::StoreMaskBits(d, m2, half[2]);
    hn::StoreMaskBits(d, m3, half[3]);
    bits[0] = static_cast<std::uint8_t>((half[0][0] & 15) | half[1][0] << 4);
    bits[1] = static_cast<std::uint8_t>((half[2][0] & 15) | half[3][0] << 4);
  }
}

// The sign bits of elements first to first + kLanes as the top bit of each lane. `first` is a
// multiple of kLanes.
HWY_INLINE VU load_signs(const std::uint8_t* bits, std::size_t first) {
  const U32 d;
#if HWY_TARGET <= HWY_AVX3
  return hn::IfThenElseZero(hn::LoadMaskBits(d, bits + first / 8), hn::Set(d, kSignBit));
#else
  // The byte is at the top of every lane, and lane j shifts its bit j up.
  const hn::Repartition<std::uint8_t, U32> d8;
  std::uint8_t byte = bits[first / 8];
  if constexpr (kLanes < 8) byte = static_cast<std::uint8_t>(byte >> first % 8);
  const VU counts = hn::Sub(hn::Set(d, 7), hn::Iota(d, 0));
  const VU word = hn::BitCast(d, hn::Set(d8, byte));
  return hn::And(hn::Shl(word, counts), hn::Set(d, kSignBit));
#endif
}

// What is done with dequantised values: `target = value`, or `target += weight * value`.
struct Assign {
  HWY_INLINE VF operator()(VF /*target*/, VF value) const { return value; }
};
struct AddWeighted {
  float weight;
  HWY_INLINE VF operator()(VF target, VF value) const {
    return hn::Add(target, hn::Mul(hn::Set(F32(), weight), value));
  }
};

// Loops over a block. Bodies work on whole vectors; the last few elements are copied and padded
// with zeros. `first` is the index of the first element in its block.

// body(i, in): elements i to i + kGroup of the values.
template <class Body>
HWY_INLINE void for_groups(std::span<const float> values, std::size_t first, const Ahead& ahead,
                           const Body& body) {
  const std::size_t n = values.size();
  std::size_t i = 0;
  for (; i + kGroup <= n; i += kGroup) {
    prefetch(ahead, first + i);
    body(i, values.data() + i);
  }
  if (i == n) return;
  HWY_ALIGN float padded[kGroup] = {};
  std::memcpy(padded, values.data() + i, (n - i) * sizeof(float));
  body(i, padded);
}

// body(in, out): kGroup values to kGroup one-byte symbols.
template <class Body>
HWY_INLINE void values_to_symbols(std::span<const float> values, std::uint8_t* symbols,
                                  std::size_t first, const Ahead& ahead, const Body& body) {
  const std::size_t n = values.size();
  std::size_t i = 0;
  for (; i + kGroup <= n; i += kGroup) {
    prefetch(ahead, first + i);
    body(values.data() + i, symbols + i);
  }
  if (i == n) return;
  HWY_ALIGN float padded[kGroup] = {};
  HWY_ALIGN std::uint8_t padded_symbols[kGroup];
  std::memcpy(padded, values.data() + i, (n - i) * sizeof(float));
  body(padded, padded_symbols);
  std::memcpy(symbols + i, padded_symbols, n - i);
}

// body(i) returns the values of elements i to i + kLanes, and `write` combines them with the
// target. The symbols that body reads belong to a whole block, so they need no padding.
template <class Write, class Body>
HWY_INLINE void symbols_to_target(std::span<float> target, std::size_t first, const Ahead& ahead,
                                  const Write& write, const Body& body) {
  const F32 d;
  const std::size_t n = target.size();
  std::size_t i = 0;
  for (; i + kGroup <= n; i += kGroup) {
    prefetch(ahead, first + i);
    for (std::size_t k = i; k < i + kGroup; k += kLanes) {
      float* out = target.data() + k;
      hn::StoreU(write(hn::LoadU(d, out), body(k)), d, out);
    }
  }
  for (; i < n; i += kLanes) {
    HWY_ALIGN float padded[kLanes] = {};
    const std::size_t count = HWY_MIN(kLanes, n - i);
    std::memcpy(padded, target.data() + i, count * sizeof(float));
    hn::Store(write(hn::Load(d, padded), body(i)), d, padded);
    std::memcpy(target.data() + i, padded, count * sizeof(float));
  }
}

}  // namespace gradwire::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET != HWY_SCALAR
#endif  // GRADWIRE_KERNEL_SIMD_INL_H_
