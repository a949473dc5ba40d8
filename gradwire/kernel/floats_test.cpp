#include "gradwire/kernel/floats.h"

#include "gradwire/kernel/copy.h"
#include "gradwire/kernel/test_support.h"

namespace gradwire::kernel {
namespace {

TEST(FloatsKernel, CopiesAndAddsAsItsScalarTwin) {
  for_hard_inputs([](std::span<const float> values, RandomStream) {
    std::vector<float> simd(kBlockElements), twin(kBlockElements);
    EXPECT_EQ(copy_floats(values, simd.data(), {}), scalar::copy_floats(values, twin.data(), {}));
    const auto used = [&](std::vector<float>& all) { return std::span(all).first(values.size()); };
    expect_same(used(simd), used(twin));
    add_weighted(values, 0.1f, used(simd), {});
    scalar::add_weighted(values, 0.1f, used(twin), {});
    expect_same(used(simd), used(twin));
  });
}

TEST(FloatsKernel, AddsAndScalesAsItsScalarTwin) {
  for_hard_inputs([](std::span<const float> values, RandomStream) {
    for (const float factor : {1.0f, 0.3f}) {
      std::vector<float> simd(values.begin(), values.end()), twin = simd;
      std::vector<float> sum(values.rbegin(), values.rend());
      EXPECT_EQ(add_scaled(sum, simd, 0.7f, factor, simd),
                scalar::add_scaled(sum, twin, 0.7f, factor, twin));
      expect_same(std::span<const float>(simd), std::span<const float>(twin));
    }
  });
}

TEST(FloatsKernel, StreamedCopyWritesItsBytesAndNoOthers) {
  for_each_target([](const std::string& target) {
    for (std::size_t shift = 0; shift < 70; shift += 3) {
      for (const std::size_t n : {0ul, 1ul, 63ul, 64ul, 65ul, 1000ul}) {
        SCOPED_TRACE(target + ", " + std::to_string(n) + " bytes at " + std::to_string(shift));
        std::vector<std::byte> source(n), target_memory(n + 140, std::byte{7});
        for (std::size_t i = 0; i < n; ++i) source[i] = static_cast<std::byte>(i * 31);
        copy_streamed(source, target_memory.data() + shift);
        finish_streamed();
        for (std::size_t i = 0; i < target_memory.size(); ++i) {
          const bool inside = i >= shift && i < shift + n;
          ASSERT_EQ(target_memory[i], inside ? source[i - shift] : std::byte{7}) << i;
        }
      }
    }
  });
}

}  // namespace
}  // namespace gradwire::kernel
