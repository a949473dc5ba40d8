#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gradwire/kernel/adam.cpp"
#include "gradwire/kernel/adam.h"

#include <hwy/foreach_target.h>

#include <cmath>

#include "gradwire/core/check.h"
#include "gradwire/kernel/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradwire::kernel::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
using scalar::adam_step;
#else

void adam_step(const AdamStep& step, std::span<const float> gradients, std::span<float> means,
               std::span<float> squares, std::span<float> weights) {
  const F32 d;
  const VF mean_decay = hn::Set(d, step.mean_decay);
  const VF mean_share = hn::Set(d, 1 - step.mean_decay);
  const VF square_decay = hn::Set(d, step.square_decay);
  const VF square_share = hn::Set(d, 1 - step.square_decay);
  const VF rate = hn::Set(d, step.rate);
  const VF unbias = hn::Set(d, step.unbias);
  const VF epsilon = hn::Set(d, step.epsilon);
  std::size_t i = 0;
  for (; i + kLanes <= weights.size(); i += kLanes) {
    const VF gradient = hn::LoadU(d, gradients.data() + i);
    const VF mean =
        hn::Add(hn::Mul(mean_decay, hn::LoadU(d, means.data() + i)), hn::Mul(mean_share, gradient));
    const VF square = hn::Add(hn::Mul(square_decay, hn::LoadU(d, squares.data() + i)),
                              hn::Mul(hn::Mul(square_share, gradient), gradient));
    const VF divisor = hn::Add(hn::Mul(hn::Sqrt(square), unbias), epsilon);
    hn::StoreU(mean, d, means.data() + i);
    hn::StoreU(square, d, squares.data() + i);
    hn::StoreU(hn::Sub(hn::LoadU(d, weights.data() + i), hn::Div(hn::Mul(rate, mean), divisor)), d,
               weights.data() + i);
  }
  scalar::adam_step(step, gradients.subspan(i), means.subspan(i), squares.subspan(i),
                    weights.subspan(i));
}

#endif  // HWY_TARGET

}  // namespace gradwire::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradwire::kernel {

HWY_EXPORT(adam_step);

void adam_step(const AdamStep& step, std::span<const float> gradients, std::span<float> means,
               std::span<float> squares, std::span<float> weights) {
  GW_CHECK(gradients.size() == weights.size() && means.size() == weights.size() &&
           squares.size() == weights.size());
  HWY_DYNAMIC_DISPATCH(adam_step)(step, gradients, means, squares, weights);
}

namespace scalar {

void adam_step(const AdamStep& step, std::span<const float> gradients, std::span<float> means,
               std::span<float> squares, std::span<float> weights) {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    means[i] = step.mean_decay * means[i] + (1 - step.mean_decay) * gradients[i];
    squares[i] =
        step.square_decay * squares[i] + (1 - step.square_decay) * gradients[i] * gradients[i];
    weights[i] -= step.rate * means[i] / (std::sqrt(squares[i]) * step.unbias + step.epsilon);
  }
}

}  // namespace scalar
}  // namespace gradwire::kernel
#endif  // HWY_ONCE
