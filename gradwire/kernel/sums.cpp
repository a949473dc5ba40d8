#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gradwire/kernel/sums.cpp"
#include "gradwire/kernel/sums.h"

#include <hwy/foreach_target.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "gradwire/core/check.h"
#include "gradwire/kernel/simd-inl.h"

#ifndef GRADWIRE_KERNEL_SUMS_ONCE
#define GRADWIRE_KERNEL_SUMS_ONCE
namespace gradwire::kernel {

// Adds the lanes up pairwise, halves first.
inline double fold(double (&lanes)[kVirtualLanes]) {
  for (std::size_t width = kVirtualLanes / 2; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

inline float scale_from_largest(std::uint32_t largest, Norm norm) {
  if (!is_finite_magnitude(largest)) return std::numeric_limits<float>::quiet_NaN();
  if (norm == Norm::linf) return std::bit_cast<float>(largest);
  constexpr std::uint32_t kTop = 254u << 23;  // 2^127
  if (largest == 0) return 0;
  if (largest < 1u << 23) return std::bit_cast<float>(std::bit_ceil(largest));
  const bool is_power = (largest & 0x7fffffu) == 0;
  return std::bit_cast<float>(std::min((largest >> 23 << 23) + (is_power ? 0 : 1u << 23), kTop));
}

inline float scale_from_squares(double squares) {
  if (!std::isfinite(squares)) return std::numeric_limits<float>::quiet_NaN();
  const double most = std::numeric_limits<float>::max();
  return static_cast<float>(std::min(std::sqrt(squares), most));
}

}  // namespace gradwire::kernel
#endif

HWY_BEFORE_NAMESPACE();
namespace gradwire::kernel::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
using scalar::bucket_scales;
using scalar::largest_magnitude;
using scalar::moments;
using scalar::sum_magnitudes;
#else

using F64 = hn::CappedTag<double, kVirtualLanes>;
using VD = hn::Vec<F64>;
inline constexpr std::size_t kDoubles = hn::MaxLanes(F64());
inline constexpr std::size_t kParts = kVirtualLanes / kDoubles;
using HalfF32 = hn::Rebind<float, F64>;

// The virtual lanes of one sum.
class Lanes {
 public:
  HWY_INLINE Lanes() {
    for (VD& part : parts_) part = hn::Zero(F64());
  }
  HWY_INLINE void add(std::size_t part, VD value) { parts_[part] = hn::Add(parts_[part], value); }
  HWY_INLINE double fold() const {
    alignas(64) double lanes[kVirtualLanes];
    for (std::size_t part = 0; part < kParts; ++part) {
      hn::StoreU(parts_[part], F64(), lanes + part * kDoubles);
    }
    return kernel::fold(lanes);
  }

 private:
  VD parts_[kParts];
};

// Calls body(part, doubles) for the values of one group, part by part of the virtual lanes.
template <class Body>
HWY_INLINE void for_doubles(const float* in, const Body& body) {
  for (std::size_t i = 0; i < kGroup; i += kDoubles) {
    body(i / kDoubles % kParts, hn::PromoteTo(F64(), hn::LoadU(HalfF32(), in + i)));
  }
}

class Largest {
 public:
  HWY_INLINE Largest() {
    for (VU& part : largest_) part = hn::Zero(U32());
  }
  HWY_INLINE void add_group(const float* in) {
    const U32 d;
    for (std::size_t k = 0; k < 4; ++k) {
      const VU x = hn::BitCast(d, hn::LoadU(F32(), in + k * kLanes));
      largest_[k] = hn::Max(largest_[k], hn::And(x, hn::Set(d, kMagnitudeBits)));
    }
  }
  HWY_INLINE std::uint32_t get() const {
    const VU all = hn::Max(hn::Max(largest_[0], largest_[1]), hn::Max(largest_[2], largest_[3]));
    return hn::GetLane(hn::MaxOfLanes(U32(), all));
  }

 private:
  VU largest_[4];
};

std::uint32_t largest_magnitude(std::span<const float> values) {
  Largest largest;
  for_blocks(values, [&](std::size_t, std::span<const float> block, const Ahead& ahead) HWY_ATTR {
    for_groups(block, 0, ahead,
               [&](std::size_t, const float* in) HWY_ATTR { largest.add_group(in); });
  });
  return largest.get();
}

MagnitudeSum sum_magnitudes(std::span<const float> values, const Ahead& ahead) {
  Largest largest;
  Lanes lanes;
  for_groups(values, 0, ahead, [&](std::size_t, const float* in) HWY_ATTR {
    largest.add_group(in);
    for_doubles(in, [&](std::size_t part, VD x) HWY_ATTR { lanes.add(part, hn::Abs(x)); });
  });
  return {lanes.fold(), largest.get()};
}

Moments moments(std::span<const float> values) {
  double sum = 0, squares = 0;
  Largest largest;
  for_blocks(values, [&](std::size_t, std::span<const float> block, const Ahead& ahead) HWY_ATTR {
    Lanes sum_lanes, square_lanes;
    for_groups(block, 0, ahead, [&](std::size_t, const float* in) HWY_ATTR {
      largest.add_group(in);
      for_doubles(in, [&](std::size_t part, VD x) HWY_ATTR {
        sum_lanes.add(part, x);
        square_lanes.add(part, hn::Mul(x, x));
      });
    });
    sum += sum_lanes.fold();
    squares += square_lanes.fold();
  });
  return {sum, squares, largest.get()};
}

HWY_INLINE double sum_of_squares(std::span<const float> values) {
  Lanes lanes;
  for_groups(values, 0, {}, [&](std::size_t, const float* in) HWY_ATTR {
    for_doubles(in, [&](std::size_t part, VD x) HWY_ATTR { lanes.add(part, hn::Mul(x, x)); });
  });
  return lanes.fold();
}

void bucket_scales(std::span<const float> values, std::size_t bucket_elements, Norm norm,
                   std::span<float> scales) {
  std::size_t first = 0;
  for (float& scale : scales) {
    const auto bucket = values.subspan(first, HWY_MIN(bucket_elements, values.size() - first));
    Largest largest;
    double squares = 0;
    for (std::size_t i = 0; i < bucket.size(); i += kBlockElements) {
      const auto block = bucket.subspan(i, HWY_MIN(kBlockElements, bucket.size() - i));
      if (norm == Norm::l2) {
        squares += sum_of_squares(block);
      } else {
        for_groups(block, 0, {},
                   [&](std::size_t, const float* in) HWY_ATTR { largest.add_group(in); });
      }
    }
    scale =
        norm == Norm::l2 ? scale_from_squares(squares) : scale_from_largest(largest.get(), norm);
    first += bucket.size();
  }
}

#endif  // HWY_TARGET

}  // namespace gradwire::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradwire::kernel {

HWY_EXPORT(largest_magnitude);
HWY_EXPORT(sum_magnitudes);
HWY_EXPORT(moments);
HWY_EXPORT(bucket_scales);

std::uint32_t largest_magnitude(std::span<const float> values) {
  return HWY_DYNAMIC_DISPATCH(largest_magnitude)(values);
}

MagnitudeSum sum_magnitudes(std::span<const float> values, const Ahead& ahead) {
  GW_CHECK(values.size() <= kBlockElements);
  return HWY_DYNAMIC_DISPATCH(sum_magnitudes)(values, ahead);
}

Moments moments(std::span<const float> values) { return HWY_DYNAMIC_DISPATCH(moments)(values); }

void bucket_scales(std::span<const float> values, std::size_t bucket_elements, Norm norm,
                   std::span<float> scales) {
  GW_CHECK(bucket_elements > 0);
  GW_CHECK(scales.size() == (values.size() + bucket_elements - 1) / bucket_elements);
  HWY_DYNAMIC_DISPATCH(bucket_scales)(values, bucket_elements, norm, scales);
}

namespace scalar {
namespace {

// Sums f(value) over the virtual lanes, block by block.
template <class F>
double sum_of(std::span<const float> values, const F& f) {
  double sum = 0;
  for_blocks(values, [&](std::size_t, std::span<const float> block, const Ahead&) {
    double lanes[kVirtualLanes] = {};
    for (std::size_t j = 0; j < block.size(); ++j) lanes[j % kVirtualLanes] += f(double{block[j]});
    sum += fold(lanes);
  });
  return sum;
}

double square(double x) { return x * x; }

}  // namespace

std::uint32_t largest_magnitude(std::span<const float> values) {
  std::uint32_t largest = 0;
  for (const float value : values) {
    largest = std::max(largest, std::bit_cast<std::uint32_t>(value) & 0x7fffffffu);
  }
  return largest;
}

MagnitudeSum sum_magnitudes(std::span<const float> values, const Ahead& /*ahead*/) {
  return {sum_of(values, [](double x) { return std::fabs(x); }), scalar::largest_magnitude(values)};
}

Moments moments(std::span<const float> values) {
  return {sum_of(values, [](double x) { return x; }), sum_of(values, square),
          scalar::largest_magnitude(values)};
}

void bucket_scales(std::span<const float> values, std::size_t bucket_elements, Norm norm,
                   std::span<float> scales) {
  for (float& scale : scales) {
    const auto bucket = values.first(std::min(bucket_elements, values.size()));
    scale = norm == Norm::l2 ? scale_from_squares(sum_of(bucket, square))
                             : scale_from_largest(scalar::largest_magnitude(bucket), norm);
    values = values.subspan(bucket.size());
  }
}

}  // namespace scalar
}  // namespace gradwire::kernel
#endif  // HWY_ONCE
