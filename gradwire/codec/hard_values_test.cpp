// Lengths, alignments and values that codecs find hard: what comes out is what is documented.
#include <algorithm>

#include "gradwire/codec/test_support.h"

namespace gradwire {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kMost = std::numeric_limits<float>::max();
const Rng kRng{.seed = 4};

bool all_finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

bool all_nan(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isnan(x); });
}

TEST(HardValues, AnyLengthAndAlignmentWorks) {
  for (const std::string& spec : tested_specs()) {
    CodecTest test(spec);
    for (const std::size_t n : {0, 1, 2, 3, 5, 8, 9, 31, 33, 64, 65, 511, 512, 513, 8191, 8193}) {
      SCOPED_TRACE(spec + ", " + std::to_string(n) + " elements");
      const std::vector<float> memory = gaussian(n + 3, n);
      const std::vector<float> aligned(memory.begin() + 3, memory.end());
      const std::span<const float> unaligned = std::span(memory).subspan(3);
      expect_same_bits(test.round_trip(unaligned, kRng), test.round_trip(aligned, kRng));
      // Payloads may lie anywhere too.
      const auto payload = test.encode(aligned, kRng);
      std::vector<std::byte> shifted(payload.size() + 1);
      std::copy(payload.begin(), payload.end(), shifted.begin() + 1);
      expect_same_bits(test.decode(std::span(shifted).subspan(1), n), test.decode(payload, n));
    }
  }
}

TEST(HardValues, ZerosStayZero) {
  for (const std::string& spec : tested_specs()) {
    if (spec == "sign(scale=off)") continue;  // the sign of nothing is still a sign
    for (const float value : CodecTest(spec).round_trip(std::vector<float>(1000), kRng)) {
      ASSERT_EQ(value, 0) << spec;
    }
  }
}

TEST(HardValues, EqualValuesAreNotClipped) {
  for (const float value : {0.474f, -0.395f, 1e-30f}) {
    for (const std::size_t n : {1ul, 1000ul, 100003ul}) {
      const std::vector<float> values(n, value);
      expect_same_bits(CodecTest("terngrad").round_trip(values, kRng), values);
    }
  }
}

TEST(HardValues, FiniteStaysFinite) {
  std::vector<float> huge = gaussian(2000, 6);
  for (std::size_t j = 0; j < huge.size(); ++j) {
    huge[j] = j % 3 == 0 ? kMost : j % 3 == 1 ? -kMost : huge[j] * 3e37f;
  }
  std::vector<float> tiny = gaussian(2000, 7);
  for (float& value : tiny) value *= 1e-40f;  // subnormal
  for (const std::string& spec : tested_specs()) {
    CodecTest test(spec);
    Encoded encoded;
    EXPECT_TRUE(all_finite(test.round_trip(huge, kRng, &encoded))) << spec;
    EXPECT_TRUE(encoded.finite) << spec;
    EXPECT_TRUE(all_finite(test.round_trip(tiny, kRng, &encoded))) << spec;
    EXPECT_TRUE(encoded.finite) << spec;
  }
}

TEST(HardValues, SubnormalBucketsKeepTheirMean) {
  std::vector<float> tiny(512, 3e-41f);
  tiny[7] = 1e-39f;
  for (const char* spec : {"qsgd(bits=4)", "qsgd(bits=4, norm=l2)", "natural_dither"}) {
    CodecTest test(spec);
    double sum = 0;
    for (std::uint64_t step = 0; step < 200; ++step) {
      for (const float value : test.round_trip(tiny, Rng{.seed = 1, .step = step})) sum += value;
    }
    // 200 x 512 draws with a standard deviation of at most 2e-40 each.
    EXPECT_NEAR(sum / 200, 511 * 3e-41 + 1e-39, 6 * 2e-40 * std::sqrt(512 / 200.0)) << spec;
  }
}

TEST(HardValues, NaturalFlushesSubnormalsAndRoundsTheTopDown) {
  CodecTest test("natural");
  const std::vector<float> values = {1e-40f, -1e-44f, kMost, -0x1.8p127f};
  const std::vector<float> expected = {0.0f, -0.0f, 0x1p127f, -0x1p127f};
  for (std::uint64_t step = 0; step < 50; ++step) {
    expect_same_bits(test.round_trip(values, Rng{.seed = 1, .step = step}), expected);
  }
}

TEST(HardValues, NonFiniteIsAlwaysReported) {
  for (const std::string& spec : tested_specs()) {
    for (const float bad : {kNan, kInfinity, -kInfinity}) {
      for (const std::size_t place : {0ul, 700ul, 9999ul}) {
        std::vector<float> values = gaussian(10000, 8);
        values[place] = bad;
        Encoded encoded;
        CodecTest(spec).round_trip(values, kRng, &encoded);
        EXPECT_FALSE(encoded.finite) << spec << " with " << bad << " at " << place;
      }
    }
  }
}

TEST(HardValues, ElementwiseCodecsKeepTheBadElementBad) {
  std::vector<float> values = gaussian(3000, 9);
  values[1234] = kNan;
  values[77] = -kInfinity;
  for (const char* spec : {"none", "fp16", "bf16", "natural", "natural | entropy", "topk(1%)",
                           "threshold(0.5)", "topk(1%) | natural"}) {
    const auto decoded = CodecTest(spec).round_trip(values, kRng);
    EXPECT_FALSE(std::isfinite(decoded[1234])) << spec;
    EXPECT_FALSE(std::isfinite(decoded[77])) << spec;
    EXPECT_EQ(
        std::count_if(decoded.begin(), decoded.end(), [](float x) { return !std::isfinite(x); }), 2)
        << spec;
  }
}

TEST(HardValues, ABadElementMakesItsBucketNan) {
  std::vector<float> values = gaussian(2048, 10);
  values[600] = kInfinity;
  for (const char* spec : {"qsgd(bits=4)", "qsgd(bits=8, norm=l2)", "natural(bits=8)",
                           "natural_dither", "qsgd(bits=4, rounding=nearest)"}) {
    const auto decoded = CodecTest(spec).round_trip(values, kRng);
    EXPECT_TRUE(all_nan(std::span(decoded).subspan(512, 512))) << spec;
    EXPECT_TRUE(all_finite({decoded.begin(), decoded.begin() + 512})) << spec;
    EXPECT_TRUE(all_finite({decoded.begin() + 1024, decoded.end()})) << spec;
  }
  for (const char* spec : {"terngrad", "sign", "terngrad(clip=off)"}) {  // one scale for all
    EXPECT_TRUE(all_nan(CodecTest(spec).round_trip(values, kRng))) << spec;
  }
}

TEST(HardValues, WherePlacesAreLostAllIsPoisoned) {
  std::vector<float> values = gaussian(1000, 11);
  values[500] = kNan;
  EXPECT_TRUE(all_nan(CodecTest("randk(1%)").round_trip(values, kRng)));
  EXPECT_FALSE(all_nan(CodecTest("topk(1%)").round_trip(values, kRng)));
  std::fill(values.begin(), values.begin() + 11, kInfinity);  // more than the 10 that are kept
  EXPECT_TRUE(all_nan(CodecTest("topk(1%)").round_trip(values, kRng)));
  EXPECT_TRUE(all_nan(CodecTest("topk(1%) | natural").round_trip(values, kRng)));
}

TEST(HardValues, TruncatedPayloadsAreRefusedAndTheTargetStays) {
  for (const std::string& spec : tested_specs()) {
    CodecTest test(spec);
    const std::vector<float> tensor = gaussian(1500, 12);
    const auto payload = test.encode(tensor, kRng);
    const std::vector<float> before = gaussian(1500, 13);
    for (std::size_t bytes = 0; bytes < payload.size(); bytes += 1 + payload.size() / 97) {
      std::vector<float> target = before;
      const auto cut = std::span(payload).first(bytes);
      const auto decoded = test.codec->decode_add(cut, 1, target, test.workspace);
      ASSERT_FALSE(decoded) << spec << " cut to " << bytes;
      EXPECT_LE(decoded.error().byte_offset, bytes) << spec;
      expect_same_bits(target, before);
    }
    std::vector<std::byte> longer = payload;
    longer.push_back(std::byte{0});
    std::vector<float> target = before;
    EXPECT_FALSE(test.codec->decode(longer, target, test.workspace)) << spec;
    expect_same_bits(target, before);
  }
}

}  // namespace
}  // namespace gradwire
