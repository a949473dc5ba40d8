// Sums and largest magnitudes. Sums are taken in double over 16 virtual lanes and blocks of
// kBlockElements, in a fixed order, so that every machine gets the same bits.
#pragma once

#include "gradwire/kernel/block.h"

namespace gradwire::kernel {

// The bits of |value|: NaN is above infinity, infinity above the finite.
inline constexpr bool is_finite_magnitude(std::uint32_t bits) { return bits < 0x7f800000u; }

// The bits of the largest |value|, of any number of values.
std::uint32_t largest_magnitude(std::span<const float> values);

struct MagnitudeSum {
  double sum = 0;  // of |value|
  std::uint32_t largest = 0;
};
// Of one block.
MagnitudeSum sum_magnitudes(std::span<const float> values, const Ahead& ahead);

struct Moments {
  double sum = 0;
  double squares = 0;
  std::uint32_t largest = 0;
};
// Of any number of values.
Moments moments(std::span<const float> values);

enum class Norm {
  linf,
  l2,
  power_of_two,  // the smallest one that is not below the largest magnitude, 2^127 at the most
};

// The scale of each bucket: its norm, at most the largest float; NaN if a value is not finite. The
// last bucket may be short.
void bucket_scales(std::span<const float> values, std::size_t bucket_elements, Norm norm,
                   std::span<float> scales);

namespace scalar {
std::uint32_t largest_magnitude(std::span<const float> values);
MagnitudeSum sum_magnitudes(std::span<const float> values, const Ahead& ahead);
Moments moments(std::span<const float> values);
void bucket_scales(std::span<const float> values, std::size_t bucket_elements, Norm norm,
                   std::span<float> scales);
}  // namespace scalar

}  // namespace gradwire::kernel
