#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gradwire/kernel/relative.cpp"
#include "gradwire/kernel/relative.h"

#include <hwy/foreach_target.h>

#include <algorithm>
#include <cstring>

#include "gradwire/core/check.h"
#include "gradwire/kernel/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradwire::kernel::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
using scalar::make_absolute;
using scalar::make_relative;
#else

static_assert(kGroupElements % kGroup == 0);

HWY_INLINE std::uint8_t largest_of_group(const std::uint8_t* in) {
  const hn::Full128<std::uint8_t> d;
  auto v = hn::Max(hn::Max(hn::LoadU(d, in), hn::LoadU(d, in + 16)),
                   hn::Max(hn::LoadU(d, in + 32), hn::LoadU(d, in + 48)));
  v = hn::Max(v, hn::ShiftRightBytes<8>(d, v));
  v = hn::Max(v, hn::ShiftRightBytes<4>(d, v));
  v = hn::Max(v, hn::ShiftRightBytes<2>(d, v));
  v = hn::Max(v, hn::ShiftRightBytes<1>(d, v));
  return hn::GetLane(v);
}

void make_relative(SymbolBlock exponents, std::size_t n, std::uint8_t* largest) {
  const U8 d;
  std::memset(exponents.data() + n, 0, group_count(n) * kGroupElements - n);
  for (std::size_t group = 0; group < group_count(n); ++group) {
    std::uint8_t* in = exponents.data() + group * kGroupElements;
    largest[group] = largest_of_group(in);
    const VB top = hn::Set(d, largest[group]);
    for (std::size_t i = 0; i < kGroupElements; i += kGroup) {
      const VB e = hn::LoadU(d, in + i);
      const auto is_zero = hn::Eq(e, hn::Zero(d));
      hn::StoreU(hn::IfThenElse(is_zero, hn::Set(d, kZeroSymbol), hn::Sub(top, e)), d, in + i);
    }
  }
}

void make_absolute(SymbolBlock symbols, std::size_t n, const std::uint8_t* largest) {
  const U8 d;
  for (std::size_t group = 0; group < group_count(n); ++group) {
    std::uint8_t* in = symbols.data() + group * kGroupElements;
    const VB top = hn::Set(d, largest[group]);
    for (std::size_t i = 0; i < kGroupElements; i += kGroup) {
      const VB symbol = hn::LoadU(d, in + i);
      const auto is_zero = hn::Eq(symbol, hn::Set(d, kZeroSymbol));
      hn::StoreU(hn::IfThenZeroElse(is_zero, hn::Sub(top, symbol)), d, in + i);
    }
  }
}

#endif  // HWY_TARGET

}  // namespace gradwire::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradwire::kernel {

HWY_EXPORT(make_relative);
HWY_EXPORT(make_absolute);

void make_relative(SymbolBlock exponents, std::size_t n, std::uint8_t* largest) {
  GW_CHECK(n <= kBlockElements);
  HWY_DYNAMIC_DISPATCH(make_relative)(exponents, n, largest);
}

void make_absolute(SymbolBlock symbols, std::size_t n, const std::uint8_t* largest) {
  GW_CHECK(n <= kBlockElements);
  HWY_DYNAMIC_DISPATCH(make_absolute)(symbols, n, largest);
}

namespace scalar {

void make_relative(SymbolBlock exponents, std::size_t n, std::uint8_t* largest) {
  for (std::size_t group = 0; group < group_count(n); ++group) {
    const std::size_t first = group * kGroupElements;
    const auto in = exponents.subspan(first, std::min(kGroupElements, n - first));
    const std::uint8_t top = *std::max_element(in.begin(), in.end());
    for (std::uint8_t& e : in) e = e == 0 ? kZeroSymbol : static_cast<std::uint8_t>(top - e);
    largest[group] = top;
  }
}

void make_absolute(SymbolBlock symbols, std::size_t n, const std::uint8_t* largest) {
  for (std::size_t j = 0; j < n; ++j) {
    const std::uint8_t top = largest[j / kGroupElements];
    symbols[j] = symbols[j] == kZeroSymbol ? 0 : static_cast<std::uint8_t>(top - symbols[j]);
  }
}

}  // namespace scalar
}  // namespace gradwire::kernel
#endif  // HWY_ONCE
