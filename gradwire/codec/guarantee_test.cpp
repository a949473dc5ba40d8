// What codecs declare about their error, tested. Statistical bounds are at 6 standard errors of the
// mean: with 48 specs, 4 inputs and at most 600 elements each, a true declaration fails with a
// probability below 3e-4, and as seeds are fixed it fails always or never.
#include "gradwire/codec/guarantee.h"

#include "gradwire/codec/quantiser.h"
#include "gradwire/codec/test_support.h"

namespace gradwire {
namespace {

constexpr double kSigmas = 6;
constexpr std::size_t kDraws = 3000;

struct NamedInput {
  const char* name;
  std::vector<float> values;
};

std::vector<NamedInput> inputs() {
  std::vector<NamedInput> all;
  all.push_back({"Gaussian", gaussian(600, 1)});
  all.push_back({"heavy-tailed", heavy_tailed(513, 2)});
  // One large value and many small ones: the worst for quantisation by the largest.
  std::vector<float> spike(512, 0.01f);
  spike[100] = -1.0f;
  all.push_back({"spike", spike});
  // Mantissas of 4/3, where natural compression has its largest second moment.
  all.push_back({"four thirds", std::vector<float>(128, 4.0f / 3)});
  if (const auto real = real_gradient(300); !real.empty()) {
    all.push_back({"ResNet-20", {real.begin() + 100000, real.begin() + 100600}});
  }
  return all;
}

struct Mean {
  double first = 0;
  double sum = 0;
  double squares = 0;
  std::size_t draws = 0;
  std::size_t as_first = 0;

  void add(double value) {
    if (draws++ == 0) first = value;
    as_first += value == first;
    sum += value;
    squares += value * value;
  }
  double mean() const { return sum / static_cast<double>(draws); }
  double standard_error() const {
    const double variance = std::max(0.0, squares / static_cast<double>(draws) - mean() * mean());
    return std::sqrt(variance / static_cast<double>(draws));
  }
  // One of two outcomes came so rarely that the draws do not tell its share.
  bool is_rare() const { return std::min(as_first, draws - as_first) < kRare; }

  static constexpr std::size_t kRare = 20;
};

void check_unbiased(const std::string& spec, const NamedInput& input, double omega) {
  CodecTest test(spec);
  const std::size_t n = input.values.size();
  std::vector<Mean> elements(n);
  Mean second_moment;
  double largest = 0;
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    const auto values = test.round_trip(input.values, Rng{.seed = 11, .step = draw});
    for (std::size_t j = 0; j < n; ++j) {
      elements[j].add(values[j]);
      largest = std::max(largest, std::fabs(double{values[j]}));
    }
    second_moment.add(squared_norm(values));
  }
  for (std::size_t j = 0; j < n; ++j) {
    const double x = input.values[j];
    const double missed = elements[j].is_rare() ? largest * 2 * Mean::kRare / kDraws : 0;
    const double allowed =
        kSigmas * elements[j].standard_error() + 1e-6 * std::fabs(x) + 1e-7 * largest + missed;
    ASSERT_NEAR(elements[j].mean(), x, allowed) << spec << ", " << input.name << ", element " << j;
  }
  EXPECT_LE(second_moment.mean(), (1 + omega) * squared_norm(input.values) * (1 + 1e-6) +
                                      kSigmas * second_moment.standard_error())
      << spec << ", " << input.name;
}

void check_contractive(const std::string& spec, const NamedInput& input, double delta) {
  ASSERT_GT(delta, 0) << spec;
  ASSERT_LE(delta, 1) << spec;
  CodecTest test(spec);
  Mean error;
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    const auto values = test.round_trip(input.values, Rng{.seed = 12, .step = draw});
    error.add(squared_distance(values, input.values));
  }
  EXPECT_LE(error.mean(), (1 - delta) * squared_norm(input.values) * (1 + 1e-6) +
                              kSigmas * error.standard_error())
      << spec << ", " << input.name;
}

TEST(Guarantee, EveryDeclarationHolds) {
  for (const std::string& spec : tested_specs()) {
    for (const NamedInput& input : inputs()) {
      const Guarantee guarantee = make_codec(spec)->guarantee(input.values.size());
      switch (guarantee.kind) {
        case Guarantee::Kind::unbiased:
          check_unbiased(spec, input, guarantee.constant);
          break;
        case Guarantee::Kind::contractive:
          check_contractive(spec, input, guarantee.constant);
          break;
        case Guarantee::Kind::none:
          EXPECT_FALSE(guarantee.reason.empty()) << spec;
          break;
      }
    }
  }
}

TEST(Guarantee, NaturalsEighthIsTight) {
  CodecTest test("natural");
  const std::vector<float> values(1000, 4.0f / 3);
  double second_moment = 0;
  for (std::uint64_t draw = 0; draw < 1000; ++draw) {
    second_moment += squared_norm(test.round_trip(values, Rng{.seed = 3, .step = draw}));
  }
  // One draw of one element has a standard deviation of sqrt(2) * 4/3 ... below 1.5; a million
  // draws make it 0.0015.
  EXPECT_NEAR(second_moment / 1e6 / (16.0 / 9), 9.0 / 8, 6 * 0.0015);
}

// At 2b/(b+1) times a power of the base b.
TEST(Guarantee, NaturalsConstantIsTightForEveryBase) {
  for (const int base : {4, 8, 16}) {
    CodecTest test("natural(base=" + std::to_string(base) + ")");
    const double b = base;
    const std::vector<float> values(1000, static_cast<float>(2 * b / (b + 1)));
    Mean second_moment;
    for (std::uint64_t draw = 0; draw < 1000; ++draw) {
      second_moment.add(squared_norm(test.round_trip(values, Rng{.seed = 3, .step = draw})) /
                        squared_norm(values));
    }
    EXPECT_NEAR(second_moment.mean(), 1 + (b - 1) * (b - 1) / (4 * b),
                kSigmas * second_moment.standard_error())
        << base;
  }
}

TEST(Guarantee, NormsOfAnyPower) {
  const std::vector<float> values = {3, -4, 0, 12};
  EXPECT_EQ(lp_norm(values, 1), 19.0F);
  EXPECT_EQ(lp_norm(values, 2), 13.0F);
  EXPECT_FLOAT_EQ(lp_norm(values, 3), static_cast<float>(std::cbrt(27.0 + 64 + 1728)));
  EXPECT_FLOAT_EQ(lp_norm(values, 16), 12.0F);
  EXPECT_EQ(lp_norm({}, 3), 0.0F);
  const std::vector<float> huge(10, std::numeric_limits<float>::max());
  EXPECT_EQ(lp_norm(huge, 1), std::numeric_limits<float>::max());
  const std::vector<float> bad = {1, std::numeric_limits<float>::infinity()};
  EXPECT_TRUE(std::isnan(lp_norm(bad, 3)));
}

TEST(Guarantee, ConstantsAreThoseOfTheFormulas) {
  const auto constant = [](const char* spec, std::size_t n) {
    return make_codec(spec)->guarantee(n).constant;
  };
  EXPECT_DOUBLE_EQ(constant("natural", 100), 0.125);
  EXPECT_DOUBLE_EQ(constant("natural_dither(levels=7)", 4096),
                   0.125 + std::pow(std::sqrt(512.0) / 64, 2));
  EXPECT_DOUBLE_EQ(constant("natural_dither(levels=2)", 4096), 0.125 + std::sqrt(512.0) / 2);
  EXPECT_DOUBLE_EQ(constant("qsgd(bits=2, norm=l2, bucket=100)", 4096), 10.0 - 1);
  EXPECT_DOUBLE_EQ(constant("qsgd(bits=8, norm=l2)", 4096), 512.0 / (4 * 127 * 127));
  EXPECT_DOUBLE_EQ(constant("qsgd(bits=2)", 4096), (std::sqrt(512.0) - 1) / 2);
  EXPECT_DOUBLE_EQ(constant("qsgd(bits=4, rounding=nearest)", 4096), 196.0 / (196 + 511));
  EXPECT_DOUBLE_EQ(constant("qsgd(bits=2, norm=l1, bucket=100)", 4096), 100.0);
  EXPECT_DOUBLE_EQ(constant("qsgd(bits=8, norm=l1, bucket=100)", 4096), 1e4 / (4 * 127 * 127));
  EXPECT_DOUBLE_EQ(constant("qsgd(bits=2, norm=l3, bucket=100)", 4096), 10.0);
  EXPECT_DOUBLE_EQ(constant("natural_dither(levels=2, norm=l1)", 4096), 0.125 + 512.0 / 2);
  EXPECT_DOUBLE_EQ(constant("natural_dither(levels=2, norm=l3)", 4096),
                   0.125 + std::sqrt(512.0) / 2);
  EXPECT_DOUBLE_EQ(constant("natural(base=4)", 100), 9.0 / 16);
  EXPECT_DOUBLE_EQ(constant("natural(base=16)", 100), 225.0 / 64);
  EXPECT_DOUBLE_EQ(constant("terngrad(clip=off)", 10000), (100.0 - 1) / 2);
  EXPECT_DOUBLE_EQ(constant("sign", 10000), 1e-4);
  EXPECT_DOUBLE_EQ(constant("topk(1%)", 10000), 0.01);
  EXPECT_DOUBLE_EQ(constant("topk(1%, chunk=4096)", 10000), 41.0 / 4096);
  EXPECT_DOUBLE_EQ(constant("topk(1%, chunk=100)", 10000), 0.01);
  EXPECT_DOUBLE_EQ(constant("twobit", 4096), 27.0 / (4 * 512 + 20));
  EXPECT_DOUBLE_EQ(constant("twobit", 1), 1);
  EXPECT_DOUBLE_EQ(constant("randk(1%)", 10000), 99);
  EXPECT_DOUBLE_EQ(constant("topk(1%) | natural | entropy", 10000), 0.875 * 0.01);
  EXPECT_DOUBLE_EQ(constant("randk(1%) | natural", 10000), 99 * 0.125 + 99 + 0.125);
  EXPECT_DOUBLE_EQ(constant("fp16", 5), 0x1p-20 / (4 * (1 + 0x1p-10)));
}

TEST(Guarantee, PipesWithoutOneSayWhy) {
  for (const char* spec : {"topk(1%) | terngrad(clip=off)", "randk(1%) | sign", "threshold(1)",
                           "terngrad", "sign(scale=off)", "topk(1%) | sign(scale=off)"}) {
    const Guarantee guarantee = make_codec(spec)->guarantee(100000);
    EXPECT_EQ(guarantee.kind, Guarantee::Kind::none) << spec;
    EXPECT_FALSE(guarantee.reason.empty()) << spec;
  }
}

// One large value, a share of the bucket just above the mean magnitude, and zeros: the worst.
TEST(Guarantee, TwoMagnitudesContractTheirWorstBuckets) {
  for (const std::size_t b : {2ul, 3ul, 4ul, 5ul, 8ul, 30ul, 512ul}) {
    for (std::size_t upper = 1; upper < b; ++upper) {
      std::vector<float> values(b);
      const auto rest = static_cast<float>(b - upper + 1);
      std::fill_n(values.begin(), upper, 1.0001F / rest);
      values[0] = 1;
      CodecTest test("twobit(bucket=" + std::to_string(b) + ")");
      const auto found = test.round_trip(values, {});
      const double delta = test.codec->guarantee(b).constant;
      ASSERT_LE(squared_distance(found, values), (1 - delta) * squared_norm(values) + 1e-6)
          << b << " with " << upper;
    }
  }
}

// Nearest rounding, on what it finds hardest: everything halfway between two levels.
TEST(Guarantee, NearestRoundingContractsEvenHalfway) {
  for (const int bits : {2, 3, 4, 8}) {
    const double u = (1 << (bits - 1)) - 1;
    std::vector<float> values(512, static_cast<float>(0.5 / u));
    values[0] = 1;
    check_contractive("qsgd(bits=" + std::to_string(bits) + ", rounding=nearest)",
                      {"halfway", values}, 4 * u * u / (4 * u * u + 511));
  }
}

}  // namespace
}  // namespace gradwire
