#include "gradwire/kernel/natural.h"

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
