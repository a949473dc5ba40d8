#include "gradwire/codec/sparsifier.h"

#include <algorithm>
#include <numeric>

#include "gradwire/codec/test_support.h"

namespace gradwire {
namespace {

// The definition: sort all by magnitude, ties by index, and take the first k.
std::vector<float> top_k_by_sorting(const std::vector<float>& values, std::size_t k) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::fabs(values[a]) > std::fabs(values[b]);
  });
  std::vector<float> kept(values.size());
  for (std::size_t i = 0; i < k; ++i) kept[order[i]] = values[order[i]];
  return kept;
}

TEST(TopK, KeepsExactlyTheLargest) {
  for (const std::size_t n : {1ul, 10ul, 999ul, 50000ul, 300000ul}) {
    for (const int percent : {1, 10, 50, 100}) {
      const std::vector<float> values = heavy_tailed(n, n);
      CodecTest test("topk(" + std::to_string(percent) + "%)");
      const std::size_t k = (n * static_cast<std::size_t>(percent) + 99) / 100;
      expect_same_bits(test.round_trip(values, {}), top_k_by_sorting(values, k));
      EXPECT_EQ(test.scale.facts().indices.size(), k);
    }
  }
}

TEST(TopK, TiesGoToTheLowerIndex) {
  std::vector<float> coarse = gaussian(100000, 3);
  for (float& value : coarse) value = std::round(value * 2) / 2;
  std::vector<float> mostly_zero(100000);
  for (std::size_t j = 0; j < 300; ++j) mostly_zero[j * 331] = static_cast<float>(j);
  const std::vector<float> equal(100000, -3.0f);
  for (const auto& values : {coarse, mostly_zero, equal, std::vector<float>(100000)}) {
    CodecTest test("topk(1%)");
    expect_same_bits(test.round_trip(values, {}), top_k_by_sorting(values, 1000));
    EXPECT_EQ(test.scale.facts().indices.size(), 1000u);
  }
}

// Values that repeat with the period of any regular sample.
TEST(TopK, PeriodicValuesDoNotFoolTheSample) {
  std::vector<float> values(1 << 20);
  for (std::size_t j = 0; j < values.size(); ++j) {
    values[j] = j % 64 == 0 ? 1.0f + static_cast<float>(j) * 1e-7f : 1e-3f;
  }
  CodecTest test("topk(1%)");
  expect_same_bits(test.round_trip(values, {}), top_k_by_sorting(values, 10486));
}

TEST(RandK, KeepsExactlyKPlacesAndScalesThem) {
  for (const std::size_t n : {1ul, 100ul, 12345ul, 300000ul}) {
    const std::vector<float> values(n, 2.0f);
    CodecTest test("randk(3%)");
    const auto kept = test.round_trip(values, Rng{.seed = n});
    const auto k = static_cast<std::size_t>(std::ceil(0.03 * static_cast<double>(n)));
    const auto scaled = static_cast<float>(2.0 * static_cast<double>(n) / static_cast<double>(k));
    EXPECT_EQ(std::count(kept.begin(), kept.end(), 0.0f), static_cast<std::ptrdiff_t>(n - k));
    EXPECT_EQ(std::count(kept.begin(), kept.end(), scaled), static_cast<std::ptrdiff_t>(k));
  }
}

// Every element is kept equally often: 500 draws of 100 in 1000, each count within 6 standard
// deviations of 50, sqrt(500 * 0.1 * 0.9) = 6.7.
TEST(RandK, NoPlaceIsFavoured) {
  const std::vector<float> values(1000, 1.0f);
  std::vector<int> counts(1000);
  CodecTest test("randk(10%)");
  for (std::uint64_t step = 0; step < 500; ++step) {
    const auto kept = test.round_trip(values, Rng{.seed = 1, .step = step});
    for (std::size_t j = 0; j < kept.size(); ++j) counts[j] += kept[j] != 0;
  }
  for (const int count : counts) EXPECT_NEAR(count, 50, 6 * 6.7);
}

TEST(RandK, SendsNoIndices) {
  CodecTest test("randk(10%)");
  const auto payload = test.encode(gaussian(100000, 1), Rng{.seed = 1});
  EXPECT_EQ(payload.size(), 10000 * sizeof(float) + 20);
}

TEST(Threshold, KeepsWhatReachesIt) {
  const std::vector<float> values = {0.5f, -0.5f, 0.49999f, 2.0f, 0.0f, -3.0f};
  const std::vector<float> expected = {0.5f, -0.5f, 0.0f, 2.0f, 0.0f, -3.0f};
  expect_same_bits(CodecTest("threshold(0.5)").round_trip(values, {}), expected);
}

}  // namespace
}  // namespace gradwire
