#include "gradwire/kernel/combine.h"

#include <vector>

#include "gradwire/kernel/test_support.h"

namespace gradwire::kernel {
namespace {

TEST(CombineKernel, CombinesAndFollowsAsItsScalarTwin) {
  for_hard_inputs([](std::span<const float> values, RandomStream) {
    std::vector<float> simd(values.rbegin(), values.rend());
    std::vector<float> twin = simd;
    combine(0.7F, values, -1.1F, simd, simd);
    scalar::combine(0.7F, values, -1.1F, twin, twin);
    expect_same(simd, twin);
    std::vector<float> simd_out(values.size()), twin_out(values.size());
    follow(simd, values, 0.3F, simd_out);
    scalar::follow(twin, values, 0.3F, twin_out);
    expect_same(simd, twin);
    expect_same(simd_out, twin_out);
  });
}

}  // namespace
}  // namespace gradwire::kernel
