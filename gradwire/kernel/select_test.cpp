#include "gradwire/kernel/select.h"

#include "gradwire/kernel/test_support.h"

namespace gradwire::kernel {
namespace {

TEST(SelectKernel, SelectsAsItsScalarTwin) {
  for_hard_inputs([](std::span<const float> values, RandomStream stream) {
    const std::size_t room = values.size() + kSelectRoom;
    for (const float threshold : {0.0f, 0.5f, 2.5f, 1e30f}) {
      const auto bits = std::bit_cast<std::uint32_t>(threshold);
      std::vector<std::uint32_t> simd(room), twin(room);
      const std::size_t count = select_above(values, bits, 1000, simd, {});
      ASSERT_EQ(count, scalar::select_above(values, bits, 1000, twin, {}));
      expect_same_symbols(simd.data(), twin.data(), count);
    }
    for (const std::uint32_t last : {0u, 1u << 25, 1u << 31, 0xffffffffu}) {
      std::vector<std::uint32_t> simd(room), twin(room);
      const std::size_t count = select_drawn(stream, last, values.size(), 5, simd, {});
      ASSERT_EQ(count, scalar::select_drawn(stream, last, values.size(), 5, twin, {}));
      expect_same_symbols(simd.data(), twin.data(), count);
    }
  });
}

}  // namespace
}  // namespace gradwire::kernel
