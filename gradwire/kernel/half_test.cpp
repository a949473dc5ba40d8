#include "gradwire/kernel/half.h"

#include "gradwire/kernel/test_support.h"

namespace gradwire::kernel {
namespace {

struct WideMemory {
  alignas(64) std::uint16_t memory[kSymbolRoom] = {};
  WideSymbolBlock block() { return WideSymbolBlock(memory); }
  ConstWideSymbolBlock view() const { return ConstWideSymbolBlock(memory); }
};

TEST(HalfKernel, EncodesAsItsScalarTwin) {
  for_hard_inputs([](std::span<const float> values, RandomStream stream) {
    WideMemory simd, twin;
    EXPECT_EQ(fp16_encode(values, stream, simd.block(), {}),
              scalar::fp16_encode(values, stream, twin.block(), {}));
    expect_same_symbols(simd.memory, twin.memory, values.size());
    EXPECT_EQ(bf16_encode(values, stream, simd.block(), {}),
              scalar::bf16_encode(values, stream, twin.block(), {}));
    expect_same_symbols(simd.memory, twin.memory, values.size());
  });
}

TEST(HalfKernel, DecodesAllBitPatternsAsItsScalarTwin) {
  for_each_target([](const std::string& target) {
    SCOPED_TRACE(target);
    for (std::uint32_t from = 0; from < 65536; from += kBlockElements) {
      WideMemory symbols;
      for (std::uint32_t j = 0; j < kBlockElements; ++j) {
        symbols.memory[j] = static_cast<std::uint16_t>(from + j);
      }
      std::vector<float> simd(kBlockElements), twin(kBlockElements);
      fp16_decode(symbols.view(), simd, {});
      scalar::fp16_decode(symbols.view(), twin, {});
      expect_same(simd, twin);
      bf16_decode(symbols.view(), simd, {});
      scalar::bf16_decode(symbols.view(), twin, {});
      expect_same(simd, twin);
      fp16_decode_add(symbols.view(), 0.3f, simd, {});
      scalar::fp16_decode_add(symbols.view(), 0.3f, twin, {});
      expect_same(simd, twin);
      bf16_decode_add(symbols.view(), 0.3f, simd, {});
      scalar::bf16_decode_add(symbols.view(), 0.3f, twin, {});
      expect_same(simd, twin);
    }
  });
}

TEST(HalfKernel, WhatFitsTheFormatIsKept) {
  const float values[] = {0, 1, -1, 0.5f, 65504, -65504, 0x1p-14f, 0x1p-24f, 1023 * 0x1p-24f};
  WideMemory symbols;
  fp16_encode(values, Rng{.seed = 1}.stream(0, 0), symbols.block(), {});
  std::vector<float> decoded(std::size(values));
  fp16_decode(symbols.view(), decoded, {});
  expect_same(decoded, values);
}

}  // namespace
}  // namespace gradwire::kernel
