#include "gradwire/kernel/relative.h"

#include "gradwire/kernel/test_support.h"

namespace gradwire::kernel {
namespace {

TEST(RelativeKernel, GoesThereAndBackAsItsScalarTwin) {
  for_each_target([](const std::string& target) {
    for (const std::size_t n : hard_lengths()) {
      SCOPED_TRACE(target + ", " + std::to_string(n));
      SymbolMemory exponents;
      const RandomStream random = Rng{.seed = n}.stream(0, 0);
      for (std::uint32_t j = 0; j < kSymbolRoom; ++j) {
        const std::uint32_t number = random.at(j);
        exponents.memory[j] = static_cast<std::uint8_t>(number % 7 == 0 ? 0 : number >> 24);
      }
      SymbolMemory simd = exponents, twin = exponents;
      std::uint8_t simd_largest[kGroupsPerBlock] = {}, twin_largest[kGroupsPerBlock] = {};
      make_relative(simd.block(), n, simd_largest);
      scalar::make_relative(twin.block(), n, twin_largest);
      expect_same_symbols(simd.memory, twin.memory, n);
      expect_same_symbols(simd_largest, twin_largest, group_count(n));
      make_absolute(simd.block(), n, simd_largest);
      expect_same_symbols(simd.memory, exponents.memory, n);
      scalar::make_absolute(twin.block(), n, twin_largest);
      expect_same_symbols(twin.memory, exponents.memory, n);
    }
  });
}

}  // namespace
}  // namespace gradwire::kernel
