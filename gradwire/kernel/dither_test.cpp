#include "gradwire/kernel/dither.h"

#include "gradwire/kernel/sums.h"
#include "gradwire/kernel/test_support.h"

namespace gradwire::kernel {
namespace {

struct Setting {
  std::size_t bucket;
  std::size_t phase;
  Dither dither;
  Norm norm;
};

constexpr Setting kSettings[] = {{512, 0, {7, 3}, Norm::linf},
                                 {512, 0, {15, 4}, Norm::l2},
                                 {112, 5, {1, 1}, Norm::l2},
                                 {10000, 9000, {kDitherLevelsMax, 7}, Norm::linf}};

std::vector<float> scales_for(std::span<const float> values, const Setting& setting) {
  std::vector<float> scales((setting.phase + values.size()) / setting.bucket + 1);
  float norm = 0;
  if (!values.empty()) {
    scalar::bucket_scales(values, values.size(), setting.norm, {&norm, 1});
  }
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = i % 7 == 3 ? 0.0f : norm;
  return scales;
}

TEST(DitherKernel, EncodesAsItsScalarTwin) {
  for_hard_inputs([](std::span<const float> values, RandomStream stream) {
    if (!is_finite_magnitude(scalar::largest_magnitude(values))) return;
    for (const Setting& setting : kSettings) {
      const auto scales = scales_for(values, setting);
      const Buckets buckets{setting.bucket, setting.phase, scales};
      SymbolMemory simd, twin;
      dither_encode(values, buckets, setting.dither, stream, simd.block(), {});
      scalar::dither_encode(values, buckets, setting.dither, stream, twin.block(), {});
      expect_same_symbols(simd.memory, twin.memory, values.size());
      for (std::size_t j = 0; j < values.size(); ++j) {
        const std::uint32_t level = simd.memory[j] & ((1u << setting.dither.sign_bit) - 1);
        ASSERT_LE(level, setting.dither.levels) << "element " << j;
      }
    }
  });
}

TEST(DitherKernel, DecodesAnyBytesAsItsScalarTwin) {
  for_hard_inputs([](std::span<const float> values, RandomStream stream) {
    SymbolMemory symbols;
    for (std::uint32_t j = 0; j < values.size(); ++j) {
      symbols.memory[j] = static_cast<std::uint8_t>(stream.at(j) >> 24);
    }
    for (const Setting& setting : kSettings) {
      const auto scales = scales_for(values, setting);
      const Buckets buckets{setting.bucket, setting.phase, scales};
      std::vector<float> simd(values.begin(), values.end()), twin = simd;
      dither_decode_add(symbols.view(), buckets, setting.dither, 0.7f, simd, {});
      scalar::dither_decode_add(symbols.view(), buckets, setting.dither, 0.7f, twin, {});
      expect_same(simd, twin);
      dither_decode(symbols.view(), buckets, setting.dither, simd, {});
      scalar::dither_decode(symbols.view(), buckets, setting.dither, twin, {});
      expect_same(simd, twin);
    }
  });
}

}  // namespace
}  // namespace gradwire::kernel
