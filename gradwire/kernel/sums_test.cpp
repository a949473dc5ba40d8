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
  const MagnitudeSum magnitudes = sum_magnitudes(values);
  const MagnitudeSum twin_magnitudes = scalar::sum_magnitudes(values);
  EXPECT_TRUE(same(magnitudes.sum, twin_magnitudes.sum));
  EXPECT_EQ(magnitudes.largest, twin_magnitudes.largest);
  const Moments moments_ = moments(values);
  const Moments twin_moments = scalar::moments(values);
  EXPECT_TRUE(same(moments_.sum, twin_moments.sum));
  EXPECT_TRUE(same(moments_.squares, twin_moments.squares));
}

TEST(SumsKernel, SumsAsItsScalarTwin) {
  for_hard_inputs([](std::span<const float> values, RandomStream) { expect_same_sums(values); });
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
