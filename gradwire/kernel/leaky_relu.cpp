#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gradwire/kernel/leaky_relu.cpp"
#include "gradwire/kernel/leaky_relu.h"

#include <hwy/foreach_target.h>

#include "gradwire/core/check.h"
#include "gradwire/kernel/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradwire::kernel::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
using scalar::leaky_relu;
using scalar::leaky_relu_backward;
#else

HWY_INLINE VF times_slope_unless(hn::Mask<F32> is_positive, float slope, VF value) {
  return hn::IfThenElse(is_positive, value, hn::Mul(hn::Set(F32(), slope), value));
}

void leaky_relu(float slope, std::span<float> values) {
  const F32 d;
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    const VF value = hn::LoadU(d, values.data() + i);
    hn::StoreU(times_slope_unless(hn::Gt(value, hn::Zero(d)), slope, value), d, values.data() + i);
  }
  scalar::leaky_relu(slope, values.subspan(i));
}

void leaky_relu_backward(float slope, std::span<const float> results, std::span<float> gradients) {
  const F32 d;
  std::size_t i = 0;
  for (; i + kLanes <= results.size(); i += kLanes) {
    const VF result = hn::LoadU(d, results.data() + i);
    const VF gradient = hn::LoadU(d, gradients.data() + i);
    hn::StoreU(times_slope_unless(hn::Gt(result, hn::Zero(d)), slope, gradient), d,
               gradients.data() + i);
  }
  scalar::leaky_relu_backward(slope, results.subspan(i), gradients.subspan(i));
}

#endif  // HWY_TARGET

}  // namespace gradwire::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradwire::kernel {

HWY_EXPORT(leaky_relu);
HWY_EXPORT(leaky_relu_backward);

void leaky_relu(float slope, std::span<float> values) {
  HWY_DYNAMIC_DISPATCH(leaky_relu)(slope, values);
}

void leaky_relu_backward(float slope, std::span<const float> results, std::span<float> gradients) {
  GW_CHECK(results.size() == gradients.size());
  HWY_DYNAMIC_DISPATCH(leaky_relu_backward)(slope, results, gradients);
}

namespace scalar {

void leaky_relu(float slope, std::span<float> values) {
  for (float& value : values) value = value > 0 ? value : slope * value;
}

void leaky_relu_backward(float slope, std::span<const float> results, std::span<float> gradients) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    gradients[i] = results[i] > 0 ? gradients[i] : slope * gradients[i];
  }
}

}  // namespace scalar
}  // namespace gradwire::kernel
#endif  // HWY_ONCE
