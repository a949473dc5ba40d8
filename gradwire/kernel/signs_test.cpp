#include "gradwire/kernel/signs.h"

#include "gradwire/kernel/test_support.h"

namespace gradwire::kernel {
namespace {

TEST(SignsKernel, EncodesAndDecodesAsItsScalarTwin) {
  for_hard_inputs([](std::span<const float> values, RandomStream) {
    std::uint8_t simd_signs[kBitRoom] = {}, twin_signs[kBitRoom] = {};
    signs_encode(values, BitBlock(simd_signs), {});
    scalar::signs_encode(values, BitBlock(twin_signs), {});
    expect_same_signs(simd_signs, twin_signs, values.size());
    std::vector<float> simd(values.begin(), values.end()), twin = simd;
    signs_decode_add(ConstBitBlock(simd_signs), 0.1f, 3.0f, simd, {});
    scalar::signs_decode_add(ConstBitBlock(twin_signs), 0.1f, 3.0f, twin, {});
    expect_same(simd, twin);
    signs_decode(ConstBitBlock(simd_signs), 0.1f, simd, {});
    scalar::signs_decode(ConstBitBlock(twin_signs), 0.1f, twin, {});
    expect_same(simd, twin);
  });
}

}  // namespace
}  // namespace gradwire::kernel
