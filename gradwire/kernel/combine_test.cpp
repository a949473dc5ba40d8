#include "gradwire/kernel/combine.h"

#include <vector>

#include "gradwire/kernel/copy.h"
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

TEST(CombineKernel, StreamedResultsAreTheSame) {
  for_hard_inputs([](std::span<const float> values, RandomStream) {
    constexpr std::size_t kLine = 64 / sizeof(float);
    std::vector<float> memory(values.size() + 2 * kLine), shift(values.begin(), values.end());
    const auto misaligned = reinterpret_cast<std::uintptr_t>(memory.data()) / sizeof(float) % kLine;
    const auto out = std::span(memory).subspan(kLine - misaligned, values.size());
    std::vector<float> expected(values.size());
    combine(0.7F, values, -1.1F, values, out, Store::streamed);
    finish_streamed();
    scalar::combine(0.7F, values, -1.1F, values, expected);
    expect_same(out, expected);
    std::vector<float> twin = shift;
    follow(shift, values, 0.3F, out, Store::streamed);
    finish_streamed();
    scalar::follow(twin, values, 0.3F, expected);
    expect_same(out, expected);
    expect_same(shift, twin);
  });
}

}  // namespace
}  // namespace gradwire::kernel
