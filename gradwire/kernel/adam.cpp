#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gradwire/kernel/adam.cpp"
#include "gradwire/kernel/adam.h"

#include <hwy/foreach_target.h>

#include <algorithm>
#include <cmath>

#include "gradwire/core/check.h"
#include "gradwire/kernel/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradwire::kernel::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
using scalar::adam_divide;
using scalar::adam_moments;
using scalar::adam_step;
using scalar::adam_take;
#else

class Divisor {
 public:
  HWY_INLINE explicit Divisor(const AdamDivisor& divisor)
      : unbias_(hn::Set(F32(), divisor.unbias)), epsilon_(hn::Set(F32(), divisor.epsilon)) {}

  HWY_INLINE VF of(const float* square) const {
    return hn::Add(hn::Mul(hn::Sqrt(hn::LoadU(F32(), square)), unbias_), epsilon_);
  }

 private:
  const VF unbias_;
  const VF epsilon_;
};

void adam_moments(const AdamMoments& moments, std::span<const float> gradients,
                  std::span<float> means, std::span<float> squares) {
  const F32 d;
  const VF mean_decay = hn::Set(d, moments.mean_decay);
  const VF mean_share = hn::Set(d, 1 - moments.mean_decay);
  const VF square_decay = hn::Set(d, moments.square_decay);
  const VF square_share = hn::Set(d, moments.square_share);
  const VF scale = hn::Set(d, moments.scale);
  std::size_t i = 0;
  for (; i + kLanes <= means.size(); i += kLanes) {
    const VF gradient = hn::Mul(scale, hn::LoadU(d, gradients.data() + i));
    hn::StoreU(
        hn::Add(hn::Mul(mean_decay, hn::LoadU(d, means.data() + i)), hn::Mul(mean_share, gradient)),
        d, means.data() + i);
    hn::StoreU(hn::Add(hn::Mul(square_decay, hn::LoadU(d, squares.data() + i)),
                       hn::Mul(hn::Mul(square_share, gradient), gradient)),
               d, squares.data() + i);
  }
  scalar::adam_moments(moments, gradients.subspan(i), means.subspan(i), squares.subspan(i));
}

void adam_divide(const AdamDivisor& divisor, const AdamParts& parts, std::span<const float> means,
                 std::span<const float> squares, std::span<float> values) {
  const F32 d;
  const Divisor divide(divisor);
  const VF of_mean = hn::Set(d, parts.a);
  const VF of_value = hn::Set(d, parts.b);
  const VF most = hn::Set(d, parts.limit);
  const VF least = hn::Set(d, -parts.limit);
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    const VF by = divide.of(squares.data() + i);
    const VF value = hn::LoadU(d, values.data() + i);
    const VF mean = hn::Div(hn::Mul(of_mean, hn::LoadU(d, means.data() + i)), by);
    const VF part = hn::Div(hn::Mul(of_value, value), by);
    const VF limited = hn::Max(least, hn::Min(most, part));
    const VF spoilt = hn::Mul(hn::Zero(d), value);  // zero, but NaN for what is not finite
    hn::StoreU(hn::Add(hn::Add(mean, limited), spoilt), d, values.data() + i);
  }
  scalar::adam_divide(divisor, parts, means.subspan(i), squares.subspan(i), values.subspan(i));
}

void adam_take(const AdamDivisor& divisor, float a, std::span<float> means, float b, float rate,
               std::span<const float> squares, std::span<float> values) {
  const F32 d;
  const Divisor divide(divisor);
  const VF of_mean = hn::Set(d, a);
  const VF of_value = hn::Set(d, b);
  const VF rates = hn::Set(d, rate);
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    const VF by = divide.of(squares.data() + i);
    const VF value = hn::Mul(hn::LoadU(d, values.data() + i), by);
    const VF mean =
        hn::Add(hn::Mul(of_mean, hn::LoadU(d, means.data() + i)), hn::Mul(of_value, value));
    hn::StoreU(mean, d, means.data() + i);
    hn::StoreU(hn::Div(hn::Mul(rates, mean), by), d, values.data() + i);
  }
  scalar::adam_take(divisor, a, means.subspan(i), b, rate, squares.subspan(i), values.subspan(i));
}

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

HWY_EXPORT(adam_divide);
HWY_EXPORT(adam_moments);
HWY_EXPORT(adam_step);
HWY_EXPORT(adam_take);

void adam_moments(const AdamMoments& moments, std::span<const float> gradients,
                  std::span<float> means, std::span<float> squares) {
  GW_CHECK(gradients.size() == means.size() && squares.size() == means.size());
  HWY_DYNAMIC_DISPATCH(adam_moments)(moments, gradients, means, squares);
}

void adam_divide(const AdamDivisor& divisor, const AdamParts& parts, std::span<const float> means,
                 std::span<const float> squares, std::span<float> values) {
  GW_CHECK(means.size() == values.size() && squares.size() == values.size());
  HWY_DYNAMIC_DISPATCH(adam_divide)(divisor, parts, means, squares, values);
}

void adam_take(const AdamDivisor& divisor, float a, std::span<float> means, float b, float rate,
               std::span<const float> squares, std::span<float> values) {
  GW_CHECK(means.size() == values.size() && squares.size() == values.size());
  HWY_DYNAMIC_DISPATCH(adam_take)(divisor, a, means, b, rate, squares, values);
}

void adam_step(const AdamStep& step, std::span<const float> gradients, std::span<float> means,
               std::span<float> squares, std::span<float> weights) {
  GW_CHECK(gradients.size() == weights.size() && means.size() == weights.size() &&
           squares.size() == weights.size());
  HWY_DYNAMIC_DISPATCH(adam_step)(step, gradients, means, squares, weights);
}

namespace scalar {
namespace {

float divisor_of(const AdamDivisor& divisor, float square) {
  return std::sqrt(square) * divisor.unbias + divisor.epsilon;
}

}  // namespace

void adam_moments(const AdamMoments& moments, std::span<const float> gradients,
                  std::span<float> means, std::span<float> squares) {
  for (std::size_t i = 0; i < means.size(); ++i) {
    const float gradient = moments.scale * gradients[i];
    means[i] = moments.mean_decay * means[i] + (1 - moments.mean_decay) * gradient;
    squares[i] = moments.square_decay * squares[i] + moments.square_share * gradient * gradient;
  }
}

void adam_divide(const AdamDivisor& divisor, const AdamParts& parts, std::span<const float> means,
                 std::span<const float> squares, std::span<float> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float by = divisor_of(divisor, squares[i]);
    const float part = parts.b * values[i] / by;
    const float limited = std::max(-parts.limit, std::min(parts.limit, part));
    values[i] = (parts.a * means[i] / by + limited) + 0 * values[i];
  }
}

void adam_take(const AdamDivisor& divisor, float a, std::span<float> means, float b, float rate,
               std::span<const float> squares, std::span<float> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float by = divisor_of(divisor, squares[i]);
    means[i] = a * means[i] + b * (values[i] * by);
    values[i] = rate * means[i] / by;
  }
}

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
