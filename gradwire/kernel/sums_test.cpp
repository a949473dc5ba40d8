#include "gradwire/kernel/sums.h"

#include "gradwire/kernel/test_support.h"

namespace gradwire::kernel {
namespace {

bool same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

void expect_same_sums(std::span<const float> values) {
  EXPECT_EQ(largest_magnitude(values), scalar::largest_magnitude(values));
  const Moments simd = moments(values);
  const Moments twin = scalar::moments(values);
  EXPECT_TRUE(same(simd.sum, twin.sum));
  EXPECT_TRUE(same(simd.squares, twin.squares));
  EXPECT_EQ(simd.largest, twin.largest);
}

TEST(SumsKernel, SumsAsItsScalarTwin) {
  for_hard_inputs([](std::span<const float> values, RandomStream) { expect_same_sums(values); });
}

TEST(SumsKernel, SumsMagnitudesAsItsScalarTwin) {
  for_hard_inputs([](std::span<const float> values, RandomStream) {
    const MagnitudeSum simd = sum_magnitudes(values, {});
    const MagnitudeSum twin = scalar::sum_magnitudes(values, {});
    EXPECT_TRUE(same(simd.sum, twin.sum));
    EXPECT_EQ(simd.largest, twin.largest);
  });
}

TEST(SumsKernel, SumsOfManyBlocksAreThoseOfItsScalarTwin) {
  const TestValues test = test_values(Input::gaussian, 5 * kBlockElements + 123, 1, 9);
  for_each_target([&](const std::string& target) {
    SCOPED_TRACE(target);
    expect_same_sums(test.values);
  });
}

TEST(SumsKernel, ScalesBucketsAsItsScalarTwin) {
  for_hard_inputs([](std::span<const float> values, RandomStream) {
    for (const std::size_t bucket : {1ul, 7ul, 112ul, 512ul, 100000ul}) {
      for (const Norm norm : {Norm::linf, Norm::l2, Norm::power_of_two}) {
        std::vector<float> simd((values.size() + bucket - 1) / bucket), twin(simd.size());
        bucket_scales(values, bucket, norm, simd);
        scalar::bucket_scales(values, bucket, norm, twin);
        expect_same(simd, twin);
      }
    }
  });
}

TEST(SumsKernel, NormIsNeverBelowTheLargestValue) {
  const TestValues test = test_values(Input::wide, kBlockElements, 0, 3);
  for (const Norm norm : {Norm::linf, Norm::l2}) {
    std::vector<float> scales(kBlockElements / 16);
    bucket_scales(test.values, 16, norm, scales);
    for (std::size_t j = 0; j < test.values.size(); ++j) {
      EXPECT_LE(std::fabs(test.values[j]), scales[j / 16]);
    }
  }
}

TEST(SumsKernel, PowerOfTwoIsTheSmallestThatIsNotBelow) {
  const float values[] = {1.0f, 1.5f, 0x1p127f, std::numeric_limits<float>::max(), 0.0f, 3e-40f};
  float scales[std::size(values)];
  bucket_scales(values, 1, Norm::power_of_two, scales);
  const float expected[] = {1.0f, 2.0f, 0x1p127f, 0x1p127f, 0.0f, 0x1p-131f};
  expect_same(scales, expected);
}

}  // namespace
}  // namespace gradwire::kernel
