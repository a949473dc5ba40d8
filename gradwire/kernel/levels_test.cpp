#include "gradwire/kernel/levels.h"

#include "gradwire/kernel/sums.h"
#include "gradwire/kernel/test_support.h"

namespace gradwire::kernel {
namespace {

struct Setting {
  std::size_t bucket;
  std::size_t phase;
  LevelsSetting levels;
};

constexpr Setting kSettings[] = {{512, 0, {4, Rounding::stochastic, true}},
                                 {512, 0, {8, Rounding::nearest, true}},
                                 {112, 5, {2, Rounding::stochastic, true}},
                                 {1, 0, {3, Rounding::stochastic, true}},
                                 {10000, 9000, {6, Rounding::stochastic, true}}};

// Scales of the buckets as a block sees them; some are smaller than their values.
std::vector<float> scales_for(std::span<const float> values, const Setting& setting) {
  std::vector<float> scales((setting.phase + values.size()) / setting.bucket + 1);
  const float largest = std::bit_cast<float>(scalar::largest_magnitude(values));
  for (std::size_t i = 0; i < scales.size(); ++i) {
    scales[i] = i % 7 == 3 ? 0.0f : i % 7 == 5 ? largest / 2 : i % 7 == 6 ? 1e-38f : largest;
    if (std::isinf(scales[i])) scales[i] = std::numeric_limits<float>::quiet_NaN();
  }
  return scales;
}

bool has_nan(std::span<const float> values) {
  return !is_finite_magnitude(scalar::largest_magnitude(values));
}

TEST(LevelsKernel, EncodesAsItsScalarTwin) {
  for_hard_inputs([](std::span<const float> values, RandomStream stream) {
    if (has_nan(values)) return;  // such buckets have a NaN for their scale, seen in scales_for
    for (const Setting& setting : kSettings) {
      const auto scales = scales_for(values, setting);
      const Buckets buckets{setting.bucket, setting.phase, scales};
      SymbolMemory simd, twin;
      levels_encode(values, buckets, setting.levels, stream, simd.block(), {});
      scalar::levels_encode(values, buckets, setting.levels, stream, twin.block(), {});
      expect_same_symbols(simd.memory, twin.memory, values.size());
    }
  });
}

TEST(LevelsKernel, EncodesUnclippedAsItsScalarTwinAndInRange) {
  for_hard_inputs([](std::span<const float> values, RandomStream stream) {
    if (has_nan(values) || values.empty()) return;
    for (unsigned bits = 2; bits <= 8; ++bits) {
      for (const Rounding rounding : {Rounding::stochastic, Rounding::nearest}) {
        std::vector<float> scales((values.size() + 99) / 100);
        scalar::bucket_scales(values, 100, Norm::linf, scales);
        const Buckets buckets{100, 0, scales};
        SymbolMemory simd, twin;
        levels_encode(values, buckets, {bits, rounding, false}, stream, simd.block(), {});
        scalar::levels_encode(values, buckets, {bits, rounding, false}, stream, twin.block(), {});
        expect_same_symbols(simd.memory, twin.memory, values.size());
        for (std::size_t j = 0; j < values.size(); ++j) {
          ASSERT_LE(simd.memory[j], 2 * levels_of(bits)) << bits << " bits, element " << j;
        }
      }
    }
  });
}

TEST(LevelsKernel, DecodesAnyBytesAsItsScalarTwin) {
  for_hard_inputs([](std::span<const float> values, RandomStream stream) {
    SymbolMemory symbols;
    for (std::uint32_t j = 0; j < values.size(); ++j) {
      symbols.memory[j] = static_cast<std::uint8_t>(stream.at(j) >> 24);
    }
    for (const Setting& setting : kSettings) {
      const auto scales = scales_for(values, setting);
      const Buckets buckets{setting.bucket, setting.phase, scales};
      std::vector<float> simd(values.begin(), values.end()), twin = simd;
      levels_decode_add(symbols.view(), buckets, setting.levels.bits, 0.7f, simd, {});
      scalar::levels_decode_add(symbols.view(), buckets, setting.levels.bits, 0.7f, twin, {});
      expect_same(simd, twin);
      levels_decode(symbols.view(), buckets, setting.levels.bits, simd, {});
      scalar::levels_decode(symbols.view(), buckets, setting.levels.bits, twin, {});
      expect_same(simd, twin);
    }
  });
}

TEST(LevelsKernel, NoLevelDecodesBeyondItsScale) {
  for (unsigned bits = 2; bits <= 8; ++bits) {
    SymbolMemory symbols;
    symbols.memory[0] = static_cast<std::uint8_t>(2 * levels_of(bits));
    const float scale = std::numeric_limits<float>::max();
    float value = 0;
    levels_decode(symbols.view(), {1, 0, {&scale, 1}}, bits, {&value, 1}, {});
    EXPECT_TRUE(std::isfinite(value)) << bits;
    EXPECT_GE(value, scale * (1 - 1e-6f)) << bits;
  }
}

}  // namespace
}  // namespace gradwire::kernel
