#include "gradwire/codec/sparsifier.h"

#include <algorithm>
#include <numeric>

#include "gradwire/codec/spec.h"
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

std::vector<float> top_k_of_chunks(const std::vector<float>& values, double share,
                                   std::size_t chunk) {
  std::vector<float> kept;
  for (std::size_t first = 0; first < values.size(); first += chunk) {
    const std::size_t n = std::min(chunk, values.size() - first);
    const auto from = values.begin() + static_cast<std::ptrdiff_t>(first);
    const auto k = static_cast<std::size_t>(std::ceil(share * static_cast<double>(n) - 1e-9));
    const auto part = top_k_by_sorting({from, from + static_cast<std::ptrdiff_t>(n)}, k);
    kept.insert(kept.end(), part.begin(), part.end());
  }
  return kept;
}

TEST(TopK, KeepsTheLargestOfEveryChunk) {
  std::vector<float> coarse = gaussian(30000, 3);
  for (float& value : coarse) value = std::round(value * 2) / 2;
  std::vector<float> uneven = heavy_tailed(300001, 9);
  for (std::size_t j = 0; j < uneven.size(); ++j) {
    // Magnitudes change by whole orders between chunks, and some chunks are mostly zero.
    if (j / 5000 % 3 == 1) uneven[j] *= 1e-6F;
    if (j / 7000 % 4 == 2 && j % 97 != 0) uneven[j] = 0;
  }
  for (const auto& values : {gaussian(20001, 1), coarse, uneven, std::vector<float>(10000)}) {
    for (const std::size_t chunk : {1ul, 7ul, 100ul, 128ul, 4096ul, 10000ul, 65536ul}) {
      for (const double share : {0.0001, 0.01, 0.3, 1.0}) {
        CodecTest test("topk(" + format_share(share) + ", chunk=" + std::to_string(chunk) + ")");
        SCOPED_TRACE(test.codec->spec());
        expect_same_bits(test.round_trip(values, {}), top_k_of_chunks(values, share, chunk));
      }
    }
  }
}

// One or two of 4096: fixed width is shorter than Rice coding; at one per cent it is longer.
TEST(TopK, IndicesOfFewPerChunkHaveFixedWidth) {
  const std::vector<float> values = gaussian(64 * 4096, 5);
  const auto index_bytes = [&](const char* spec, std::size_t kept) {
    return CodecTest(spec).encode(values, {}).size() - 8 - kept * sizeof(float);
  };
  EXPECT_EQ(index_bytes("topk(0.01%, chunk=4096)", 64), 1 + 64 * 12 / 8);
  EXPECT_EQ(index_bytes("topk(0.04%, chunk=4096)", 128), 1 + 128 * 12 / 8);
  EXPECT_LT(index_bytes("topk(1%, chunk=4096)", 64 * 41), 64 * 41 * 9 / 8);
}

TEST(TopK, AChunkThatCannotKeepAllBadValuesIsPoisoned) {
  std::vector<float> values = gaussian(1000, 6);
  for (const std::size_t j : {500ul, 510ul}) values[j] = std::numeric_limits<float>::infinity();
  CodecTest kept("topk(2%, chunk=100)");
  kept.encode(values, {});
  EXPECT_FALSE(kept.scale.facts().finite);
  EXPECT_FALSE(kept.scale.facts().poisoned);
  CodecTest lost("topk(1%, chunk=100)");
  lost.encode(values, {});
  EXPECT_TRUE(lost.scale.facts().poisoned);
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
