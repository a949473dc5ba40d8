#include "gradwire/kernel/levels.h"

#include "gradwire/kernel/sums.h"
#include "gradwire/kernel/test_support.h"

namespace gradwire::kernel {
namespace {

struct Setting {
  std::size_t bucket;
  std::size_t phase;
  std::uint32_t u;
  Rounding rounding;
};

constexpr Setting kSettings[] = {{512, 0, 7, Rounding::stochastic}, {512, 0, 127, Rounding::nearest},
                                 {112, 5, 1, Rounding::stochastic}, {1, 0, 3, Rounding::stochastic},
                                 {10000, 9000, 31, Rounding::stochastic}};

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
      levels_encode(values, buckets, setting.u, setting.rounding, stream, simd.block(), {});
      scalar::levels_encode(values, buckets, setting.u, setting.rounding, stream, twin.block(), {});
      expect_same_symbols(simd.memory, twin.memory, values.size());
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
      levels_decode_add(symbols.view(), buckets, setting.u, 0.7f, simd, {});
      scalar::levels_decode_add(symbols.view(), buckets, setting.u, 0.7f, twin, {});
      expect_same(simd, twin);
      levels_decode(symbols.view(), buckets, setting.u, simd, {});
      scalar::levels_decode(symbols.view(), buckets, setting.u, twin, {});
      expect_same(simd, twin);
    }
  });
}

TEST(LevelsKernel, NoLevelDecodesBeyondItsScale) {
  for (std::uint32_t u = 1; u <= 127; ++u) {
    SymbolMemory symbols;
    symbols.memory[0] = static_cast<std::uint8_t>(2 * u);
    const float scale = std::numeric_limits<float>::max();
    float value = 0;
    levels_decode(symbols.view(), {1, 0, {&scale, 1}}, u, {&value, 1}, {});
    EXPECT_TRUE(std::isfinite(value)) << u;
    EXPECT_GE(value, scale * (1 - 1e-6f)) << u;
  }
}

}  // namespace
}  // namespace gradwire::kernel
