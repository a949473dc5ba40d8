#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gradwire/kernel/combine.cpp"
#include "gradwire/kernel/combine.h"

#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>

#include "gradwire/core/check.h"
#include "gradwire/kernel/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradwire::kernel::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
using scalar::combine;
using scalar::follow;
#else

// Calls body(i) for whole vectors, and asks for what lies a block ahead in both arrays. Returns how
// many elements were done.
template <class Body>
HWY_INLINE std::size_t for_vectors(std::size_t count, const float* x, const float* y,
                                   const Body& body) {
  std::size_t i = 0;
  for (; i + kGroup <= count; i += kGroup) {
    const std::size_t in_block = i % kBlockElements;
    const std::size_t next = i - in_block + kBlockElements;
    prefetch({.block = x + next}, in_block);
    prefetch({.block = y + next}, in_block);
    for (std::size_t k = i; k < i + kGroup; k += kLanes) body(k);
  }
  return i;
}

// Streaming takes whole cache lines.
HWY_INLINE bool can_stream(const float* out, Store store) {
  constexpr std::size_t kLine = 64;
  return store == Store::streamed && reinterpret_cast<std::uintptr_t>(out) % kLine == 0;
}

void combine(float a, std::span<const float> x, float b, std::span<const float> y,
             std::span<float> out, Store store) {
  const F32 d;
  const VF va = hn::Set(d, a);
  const VF vb = hn::Set(d, b);
  const auto sum = [&](std::size_t i) HWY_ATTR {
    return hn::Add(hn::Mul(va, hn::LoadU(d, x.data() + i)),
                   hn::Mul(vb, hn::LoadU(d, y.data() + i)));
  };
  const std::size_t done =
      can_stream(out.data(), store)
          ? for_vectors(out.size(), x.data(), y.data(),
                        [&](std::size_t i) HWY_ATTR { hn::Stream(sum(i), d, out.data() + i); })
          : for_vectors(out.size(), x.data(), y.data(),
                        [&](std::size_t i) HWY_ATTR { hn::StoreU(sum(i), d, out.data() + i); });
  scalar::combine(a, x.subspan(done), b, y.subspan(done), out.subspan(done));
}

void follow(std::span<float> shift, std::span<const float> mean, float rate, std::span<float> out,
            Store store) {
  const F32 d;
  const VF vrate = hn::Set(d, rate);
  const auto advance = [&](std::size_t i) HWY_ATTR {
    const VF h = hn::LoadU(d, shift.data() + i);
    const VF m = hn::LoadU(d, mean.data() + i);
    hn::StoreU(hn::Add(h, hn::Mul(vrate, m)), d, shift.data() + i);
    return hn::Add(h, m);
  };
  const std::size_t done =
      can_stream(out.data(), store)
          ? for_vectors(out.size(), shift.data(), mean.data(),
                        [&](std::size_t i) HWY_ATTR { hn::Stream(advance(i), d, out.data() + i); })
          : for_vectors(out.size(), shift.data(), mean.data(),
                        [&](std::size_t i) HWY_ATTR { hn::StoreU(advance(i), d, out.data() + i); });
  scalar::follow(shift.subspan(done), mean.subspan(done), rate, out.subspan(done));
}

#endif  // HWY_TARGET

}  // namespace gradwire::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradwire::kernel {

HWY_EXPORT(combine);
HWY_EXPORT(follow);

void combine(float a, std::span<const float> x, float b, std::span<const float> y,
             std::span<float> out, Store store) {
  GW_CHECK(x.size() == out.size() && y.size() == out.size());
  HWY_DYNAMIC_DISPATCH(combine)(a, x, b, y, out, store);
}

void follow(std::span<float> shift, std::span<const float> mean, float rate, std::span<float> out,
            Store store) {
  GW_CHECK(shift.size() == out.size() && mean.size() == out.size());
  HWY_DYNAMIC_DISPATCH(follow)(shift, mean, rate, out, store);
}

namespace scalar {

void combine(float a, std::span<const float> x, float b, std::span<const float> y,
             std::span<float> out, Store /*store*/) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = a * x[i] + b * y[i];
}

void follow(std::span<float> shift, std::span<const float> mean, float rate, std::span<float> out,
            Store /*store*/) {
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
