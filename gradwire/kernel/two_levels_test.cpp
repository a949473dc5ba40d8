#include "gradwire/kernel/two_levels.h"

#include "gradwire/kernel/test_support.h"

namespace gradwire::kernel {
namespace {

TEST(TwoLevelsKernel, IsItsScalarTwin) {
  for_hard_inputs([](std::span<const float> values, RandomStream) {
    const TwoLevels levels = two_levels_of(values);
    const TwoLevels twin_levels = scalar::two_levels_of(values);
    expect_same(std::vector{levels.lower, levels.upper},
                std::vector{twin_levels.lower, twin_levels.upper});
    std::uint8_t simd_symbols[kSymbolRoom] = {}, twin_symbols[kSymbolRoom] = {};
    two_levels_encode(values, levels, simd_symbols, {});
    scalar::two_levels_encode(values, levels, twin_symbols, {});
    for (std::size_t j = 0; j < values.size(); ++j) ASSERT_EQ(simd_symbols[j], twin_symbols[j]);
    const TwoLevels some{.lower = 0.1F, .upper = 0.7F};
    std::vector<float> simd(values.begin(), values.end()), twin = simd;
    two_levels_decode_add(simd_symbols, some, 3.0F, simd, {});
    scalar::two_levels_decode_add(twin_symbols, some, 3.0F, twin, {});
    expect_same(simd, twin);
    two_levels_decode(simd_symbols, some, simd, {});
    scalar::two_levels_decode(twin_symbols, some, twin, {});
    expect_same(simd, twin);
  });
}

TEST(TwoLevelsKernel, LevelsAreTheMeansOnBothSidesOfTheMean) {
  const std::vector<float> values = {1, -2, 3, -10};  // a mean magnitude of 4
  const TwoLevels levels = two_levels_of(values);
  EXPECT_EQ(levels.lower, 2);
  EXPECT_EQ(levels.upper, 10);
  const TwoLevels equal = two_levels_of(std::vector<float>(100, -3.0F));
  EXPECT_EQ(equal.lower, 3);
  EXPECT_EQ(equal.upper, 3);
}

}  // namespace
}  // namespace gradwire::kernel
