#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gradwire/kernel/combine.cpp"
#include "gradwire/kernel/combine.h"

#include <hwy/foreach_target.h>

#include "gradwire/core/check.h"
#include "gradwire/kernel/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradwire::kernel::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
using scalar::combine;
using scalar::follow;
#else

void combine(float a, std::span<const float> x, float b, std::span<const float> y,
             std::span<float> out) {
  const F32 d;
  const VF va = hn::Set(d, a);
  const VF vb = hn::Set(d, b);
  std::size_t i = 0;
  for (; i + kLanes <= out.size(); i += kLanes) {
    const VF ax = hn::Mul(va, hn::LoadU(d, x.data() + i));
    const VF by = hn::Mul(vb, hn::LoadU(d, y.data() + i));
    hn::StoreU(hn::Add(ax, by), d, out.data() + i);
  }
  scalar::combine(a, x.subspan(i), b, y.subspan(i), out.subspan(i));
}

void follow(std::span<float> shift, std::span<const float> mean, float rate, std::span<float> out) {
  const F32 d;
  const VF vrate = hn::Set(d, rate);
  std::size_t i = 0;
  for (; i + kLanes <= out.size(); i += kLanes) {
    const VF h = hn::LoadU(d, shift.data() + i);
    const VF m = hn::LoadU(d, mean.data() + i);
    hn::StoreU(hn::Add(h, m), d, out.data() + i);
    hn::StoreU(hn::Add(h, hn::Mul(vrate, m)), d, shift.data() + i);
  }
  scalar::follow(shift.subspan(i), mean.subspan(i), rate, out.subspan(i));
}

#endif  // HWY_TARGET

}  // namespace gradwire::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradwire::kernel {

HWY_EXPORT(combine);
HWY_EXPORT(follow);

void combine(float a, std::span<const float> x, float b, std::span<const float> y,
             std::span<float> out) {
  GW_CHECK(x.size() == out.size() && y.size() == out.size());
  HWY_DYNAMIC_DISPATCH(combine)(a, x, b, y, out);
}

void follow(std::span<float> shift, std::span<const float> mean, float rate, std::span<float> out) {
  GW_CHECK(shift.size() == out.size() && mean.size() == out.size());
  HWY_DYNAMIC_DISPATCH(follow)(shift, mean, rate, out);
}

namespace scalar {

void combine(float a, std::span<const float> x, float b, std::span<const float> y,
             std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = a * x[i] + b * y[i];
}

void follow(std::span<float> shift, std::span<const float> mean, float rate, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const float h = shift[i];
    const float m = mean[i];
    out[i] = h + m;
    shift[i] = h + rate * m;
  }
}

}  // namespace scalar
}  // namespace gradwire::kernel
#endif  // HWY_ONCE
