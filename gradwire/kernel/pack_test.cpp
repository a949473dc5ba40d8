#include "gradwire/kernel/pack.h"

#include "gradwire/kernel/test_support.h"

namespace gradwire::kernel {
namespace {

SymbolMemory random_symbols(std::size_t n, std::uint32_t below) {
  SymbolMemory symbols;
  const RandomStream random = Rng{.seed = n}.stream(0, 0);
  for (std::uint32_t j = 0; j < kSymbolRoom; ++j) {
    symbols.memory[j] = static_cast<std::uint8_t>(j < n ? (random.at(j) >> 8) % below : 0xff);
  }
  return symbols;
}

TEST(PackKernel, PacksBitsAsItsScalarTwinAndBack) {
  for_each_target([](const std::string& target) {
    for (const std::size_t n : hard_lengths()) {
      for (unsigned bits = 1; bits <= 7; ++bits) {
        SCOPED_TRACE(target + ", " + std::to_string(n) + " of " + std::to_string(bits) + " bits");
        const SymbolMemory symbols = random_symbols(n, 1u << bits);
        SymbolMemory input = symbols, simd, twin, back, twin_back;
        pack_bits(input.block(), n, bits, simd.block());
        input = symbols;
        scalar::pack_bits(input.block(), n, bits, twin.block());
        expect_same_symbols(simd.memory, twin.memory, packed_bytes(n, bits));
        unpack_bits(simd.view(), n, bits, back.block());
        scalar::unpack_bits(simd.view(), n, bits, twin_back.block());
        expect_same_symbols(back.memory, symbols.memory, n);
        expect_same_symbols(twin_back.memory, symbols.memory, n);
      }
    }
  });
}

TEST(PackKernel, PacksTritsAsItsScalarTwinAndBack) {
  for_each_target([](const std::string& target) {
    for (const std::size_t n : hard_lengths()) {
      SCOPED_TRACE(target + ", " + std::to_string(n));
      const SymbolMemory symbols = random_symbols(n, 3);
      SymbolMemory input = symbols, simd, twin, back;
      pack_trits(input.block(), n, simd.block());
      input = symbols;
      scalar::pack_trits(input.block(), n, twin.block());
      expect_same_symbols(simd.memory, twin.memory, packed_trit_bytes(n));
      unpack_trits(simd.view(), n, back.block());
      expect_same_symbols(back.memory, symbols.memory, n);
    }
  });
}

TEST(PackKernel, AnyByteUnpacksToTritsAsItsScalarTwin) {
  for_each_target([](const std::string& target) {
    SCOPED_TRACE(target);
    const SymbolMemory bytes = random_symbols(kBlockElements, 256);
    for (const std::size_t n : hard_lengths()) {
      SymbolMemory simd, twin;
      unpack_trits(bytes.view(), n, simd.block());
      scalar::unpack_trits(bytes.view(), n, twin.block());
      expect_same_symbols(simd.memory, twin.memory, n);
      for (std::size_t j = 0; j < n; ++j) ASSERT_LE(simd.memory[j], 2);
    }
  });
}

}  // namespace
}  // namespace gradwire::kernel
