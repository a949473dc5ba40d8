#include "gradwire/kernel/natural.h"

#include "gradwire/kernel/sums.h"
#include "gradwire/kernel/test_support.h"

namespace gradwire::kernel {
namespace {

struct Planes {
  SymbolMemory exponents;
  std::uint8_t signs[kBitRoom] = {};
};

TEST(NaturalKernel, EncodesAsItsScalarTwin) {
  for_hard_inputs([](std::span<const float> values, RandomStream stream) {
    Planes simd, twin;
    const bool finite =
        natural_encode(values, stream, simd.exponents.block(), BitBlock(simd.signs), {});
    const bool twin_finite =
        scalar::natural_encode(values, stream, twin.exponents.block(), BitBlock(twin.signs), {});
    EXPECT_EQ(finite, twin_finite);
    expect_same_symbols(simd.exponents.memory, twin.exponents.memory, values.size());
    expect_same_signs(simd.signs, twin.signs, values.size());
  });
}

// One special value among usual ones, so that nothing else makes the kernel take its slow path.
TEST(NaturalKernel, OneSpecialValueIsEncodedAsByItsScalarTwin) {
  const float specials[] = {
      std::numeric_limits<float>::quiet_NaN(), -std::bit_cast<float>(0x7fffffffu),
      std::bit_cast<float>(0x7f800001u),       std::numeric_limits<float>::infinity(),
      std::numeric_limits<float>::max(),       1e-39f};
  for_each_target([&](const std::string& target) {
    SCOPED_TRACE(target);
    std::vector<float> values(128, 1.5f);
    for (const float special : specials) {
      for (const std::size_t place : {0ul, 37ul, 127ul}) {
        values[place] = special;
        for (std::uint64_t step = 0; step < 20; ++step) {
          const RandomStream stream = Rng{.seed = 1, .step = step}.stream(0, 0);
          Planes simd, twin;
          const bool finite =
              natural_encode(values, stream, simd.exponents.block(), BitBlock(simd.signs), {});
          EXPECT_EQ(finite, scalar::natural_encode(values, stream, twin.exponents.block(),
                                                   BitBlock(twin.signs), {}));
          EXPECT_EQ(finite, std::isfinite(special));
          expect_same_symbols(simd.exponents.memory, twin.exponents.memory, values.size());
          expect_same_signs(simd.signs, twin.signs, values.size());
        }
        values[place] = 1.5f;
      }
    }
  });
}

TEST(NaturalKernel, EncodesBytesAsItsScalarTwin) {
  for_hard_inputs([](std::span<const float> values, RandomStream stream) {
    if (!is_finite_magnitude(scalar::largest_magnitude(values))) return;
    for (const std::size_t bucket : {512ul, 100ul, 64ul}) {
      std::vector<float> scales((values.size() + bucket - 1) / bucket);
      scalar::bucket_scales(values, bucket, Norm::power_of_two, scales);
      const Buckets buckets{bucket, 0, scales};
      Planes simd, twin;
      natural_bytes_encode(values, buckets, stream, simd.exponents.block(), BitBlock(simd.signs),
                           {});
      scalar::natural_bytes_encode(values, buckets, stream, twin.exponents.block(),
                                   BitBlock(twin.signs), {});
      expect_same_symbols(simd.exponents.memory, twin.exponents.memory, values.size());
    }
  });
}

TEST(NaturalKernel, DecodesAsItsScalarTwin) {
  for_hard_inputs([](std::span<const float> values, RandomStream stream) {
    Planes planes;
    scalar::natural_encode(values, stream, planes.exponents.block(), BitBlock(planes.signs), {});
    const ConstBitBlock signs(planes.signs);
    std::vector<float> simd(values.begin(), values.end()), twin = simd;
    natural_decode_add(planes.exponents.view(), signs, -0.3f, simd, {});
    scalar::natural_decode_add(planes.exponents.view(), signs, -0.3f, twin, {});
    expect_same(simd, twin);
    natural_decode(planes.exponents.view(), signs, simd, {});
    scalar::natural_decode(planes.exponents.view(), signs, twin, {});
    expect_same(simd, twin);
  });
}

}  // namespace
}  // namespace gradwire::kernel
