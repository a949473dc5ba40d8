// How small payloads are: by arithmetic where that is possible, on real gradients where they are at
// hand.
#include "gradwire/codec/test_support.h"

namespace gradwire {
namespace {

double bits_per_element(const char* spec, std::span<const float> values) {
  CodecTest test(spec);
  return static_cast<double>(test.encode(values, Rng{.seed = 1}).size()) * 8 /
         static_cast<double>(values.size());
}

TEST(Sizes, FixedRateCodecsTakeTheirBits) {
  const std::vector<float> values = gaussian(1 << 16, 1);
  EXPECT_DOUBLE_EQ(bits_per_element("none", values), 32);
  EXPECT_DOUBLE_EQ(bits_per_element("fp16", values), 16);
  EXPECT_DOUBLE_EQ(bits_per_element("bf16", values), 16);
  EXPECT_DOUBLE_EQ(bits_per_element("natural", values), 9);
  for (int bits = 2; bits <= 8; ++bits) {
    const std::string spec = "qsgd(bits=" + std::to_string(bits) + ")";
    EXPECT_DOUBLE_EQ(bits_per_element(spec.c_str(), values), bits + 32.0 / 512);
  }
  EXPECT_DOUBLE_EQ(bits_per_element("natural(bits=8)", values), 8 + 32.0 / 512);
  EXPECT_DOUBLE_EQ(bits_per_element("natural_dither(levels=7)", values), 4 + 32.0 / 512);
  EXPECT_DOUBLE_EQ(bits_per_element("natural_dither(levels=8)", values), 5 + 32.0 / 512);
  EXPECT_NEAR(bits_per_element("sign", values), 1, 0.001);
  EXPECT_NEAR(bits_per_element("terngrad", values), 1.6, 0.002);
}

TEST(Sizes, RealGradientsTakeFewBits) {
  for (const int step : {50, 300}) {
    const std::vector<float> values = real_gradient(step);
    if (values.empty()) GTEST_SKIP() << "real gradients are not at ../shared/data/gradients";
    SCOPED_TRACE("step " + std::to_string(step));
    EXPECT_LE(bits_per_element("natural | entropy", values), 4.0);
    EXPECT_LE(bits_per_element("terngrad", values), 1.65);
    EXPECT_LE(bits_per_element("qsgd(bits=4, bucket=512)", values), 4.07);
    const double k = std::ceil(0.01 * static_cast<double>(values.size()));
    const double index_bits =
        bits_per_element("topk(1%)", values) * static_cast<double>(values.size()) / k - 32;
    EXPECT_LE(index_bits, 8.7);
    std::printf(
        "step %d: natural | entropy %.3f bits, terngrad %.3f, qsgd(bits=4) %.3f, "
        "topk(1%%) %.3f bits an index\n",
        step, bits_per_element("natural | entropy", values), bits_per_element("terngrad", values),
        bits_per_element("qsgd(bits=4)", values), index_bits);
  }
}

}  // namespace
}  // namespace gradwire
