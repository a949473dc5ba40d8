#include "gradwire/kernel/leaky_relu.h"

#include <vector>

#include "gradwire/kernel/test_support.h"

namespace gradwire::kernel {
namespace {

TEST(LeakyReluKernel, GoesForwardAndBackAsItsScalarTwin) {
  for_hard_inputs([](std::span<const float> values, RandomStream) {
    std::vector<float> simd(values.begin(), values.end());
    std::vector<float> twin = simd;
    leaky_relu(0.01F, simd);
    scalar::leaky_relu(0.01F, twin);
    expect_same(simd, twin);
    std::vector<float> simd_gradients(values.rbegin(), values.rend());
    std::vector<float> twin_gradients = simd_gradients;
    leaky_relu_backward(0.01F, simd, simd_gradients);
    scalar::leaky_relu_backward(0.01F, twin, twin_gradients);
    expect_same(simd_gradients, twin_gradients);
  });
}

TEST(LeakyReluKernel, IsTheFunctionOfItsName) {
  std::vector<float> values = {2, 0, -2};
  leaky_relu(0.25F, values);
  EXPECT_EQ(values, (std::vector<float>{2, 0, -0.5F}));
  std::vector<float> gradients = {3, 3, 3};
  leaky_relu_backward(0.25F, values, gradients);
  EXPECT_EQ(gradients, (std::vector<float>{3, 0.75F, 0.75F}));
}

}  // namespace
}  // namespace gradwire::kernel
