// A codec's meaning is per tensor: how the tensor is cut changes nothing.
#include <algorithm>

#include "gradwire/codec/pipes.h"
#include "gradwire/codec/test_support.h"
#include "gradwire/kernel/test_support.h"

namespace gradwire {
namespace {

// Ranges from random cuts at multiples of the bucket, some of them empty.
std::vector<TensorRange> random_cuts(std::span<const float> tensor, std::size_t bucket,
                                     std::uint64_t seed) {
  const RandomStream random = Rng{.seed = seed, .purpose = Purpose::data}.stream(0, 0);
  const std::size_t buckets = tensor.size() / bucket;
  std::vector<std::size_t> cuts = {0, tensor.size()};
  for (std::uint32_t i = 0; i < 6; ++i) {
    cuts.push_back((std::uint64_t{random.at(i)} * (buckets + 1) >> 32) * bucket);
  }
  std::sort(cuts.begin(), cuts.end());
  std::vector<TensorRange> ranges;
  for (std::size_t i = 1; i < cuts.size(); ++i) {
    ranges.push_back({tensor.subspan(cuts[i - 1], cuts[i] - cuts[i - 1]), cuts[i - 1]});
  }
  return ranges;
}

TEST(Cuts, DecodedValuesDoNotDependOnThem) {
  for (const std::string& spec : tested_specs()) {
    for (const std::size_t n : {1ul, 511ul, 513ul, 10007ul, 40000ul}) {
      SCOPED_TRACE(spec + ", " + std::to_string(n) + " elements");
      CodecTest test(spec);
      const std::vector<float> tensor = heavy_tailed(n, n);
      const Rng rng{.seed = 5, .step = n, .rank = 2};
      const std::vector<float> whole = test.round_trip(tensor, rng);
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        std::vector<float> pieces;
        for (const TensorRange& range : random_cuts(tensor, test.codec->bucket_elements(), seed)) {
          const auto values = test.decode(test.encode(range, rng), range.values.size());
          pieces.insert(pieces.end(), values.begin(), values.end());
        }
        expect_same_bits(pieces, whole);
      }
    }
  }
}

TEST(Cuts, RoundedValuesAreTheDecodedOnes) {
  for (const std::string& spec : tested_specs()) {
    for (const std::size_t n : {1ul, 513ul, 40000ul}) {
      SCOPED_TRACE(spec + ", " + std::to_string(n) + " elements");
      CodecTest test(spec);
      std::vector<float> tensor = heavy_tailed(n, n);
      const Rng rng{.seed = 5, .step = n, .rank = 2};
      const std::vector<float> decoded = test.round_trip(tensor, rng);
      test.codec->measure(tensor, rng, test.scale);
      const TensorRange all{.values = tensor, .first = 0};
      const std::vector<std::byte> payload = test.encode(all, rng);
      std::vector<std::byte> room(test.codec->payload_bytes_max(n));
      const Encoded encoded = test.codec->encode_rounded(test.scale, all, rng, room, tensor,
                                                         test.workspace);  // in place
      room.resize(encoded.bytes);
      EXPECT_EQ(room, payload);
      expect_same_bits(tensor, decoded);
    }
  }
}

TEST(Cuts, RanksAndStepsDrawTheirOwnNumbers) {
  const std::vector<float> tensor = gaussian(1000, 1);
  for (const char* spec : {"natural", "qsgd(bits=4)", "randk(10%)", "fp16", "terngrad"}) {
    CodecTest test(spec);
    const auto base = test.round_trip(tensor, Rng{.seed = 1});
    EXPECT_NE(base, test.round_trip(tensor, Rng{.seed = 1, .step = 1})) << spec;
    EXPECT_NE(base, test.round_trip(tensor, Rng{.seed = 1, .rank = 1})) << spec;
    EXPECT_NE(base, test.round_trip(tensor, Rng{.seed = 1, .purpose = Purpose::hop})) << spec;
    EXPECT_EQ(base, test.round_trip(tensor, Rng{.seed = 1})) << spec;
  }
}

TEST(Cuts, SharedSeedKeepsTheSamePlacesOnAllRanks) {
  CodecTest test("randk(10%, seed=shared)");
  const auto a = test.round_trip(gaussian(5000, 1), Rng{.seed = 1, .rank = 1});
  const auto b = test.round_trip(gaussian(5000, 2), Rng{.seed = 1, .rank = 2});
  for (std::size_t j = 0; j < a.size(); ++j) ASSERT_EQ(a[j] == 0, b[j] == 0) << j;
}

TEST(Cuts, TheEntropyStageChangesNoValue) {
  EXPECT_EQ(make_codec_without_entropy("natural"), nullptr);
  for (const std::string spec : {"natural", "qsgd(bits=4)", "none", "topk(5%) | natural"}) {
    SCOPED_TRACE(spec);
    const auto without = make_codec_without_entropy(spec + " | entropy");
    ASSERT_NE(without, nullptr);
    EXPECT_EQ(without->spec(), make_codec(spec)->spec());
    const std::vector<float> tensor = heavy_tailed(10007, 3);
    const Rng rng{.seed = 2};
    expect_same_bits(CodecTest(without->spec()).round_trip(tensor, rng),
                     CodecTest(spec + " | entropy").round_trip(tensor, rng));
  }
}

TEST(Cuts, DecodeAddAddsWhatDecodeGives) {
  for (const std::string& spec : tested_specs()) {
    SCOPED_TRACE(spec);
    CodecTest test(spec);
    const std::vector<float> tensor = heavy_tailed(10007, 3);
    const auto payload = test.encode(tensor, Rng{.seed = 2});
    const auto values = test.decode(payload, tensor.size());
    for (const float weight : {-0.25f, 0.3f}) {
      std::vector<float> sum = gaussian(tensor.size(), 9), expected = sum;
      ASSERT_TRUE(test.codec->decode_add(payload, weight, sum, test.workspace));
      for (std::size_t j = 0; j < sum.size(); ++j) expected[j] += weight * values[j];
      expect_same_bits(sum, expected);
    }
  }
}

TEST(Cuts, PayloadsAreTheSameOnEveryTarget) {
  const std::vector<float> tensor = heavy_tailed(20011, 4);
  const Rng rng{.seed = 6, .step = 1};
  for (const std::string& spec : tested_specs()) {
    const auto payload = CodecTest(spec).encode(tensor, rng);
    const auto values = CodecTest(spec).decode(payload, tensor.size());
    kernel::for_each_target([&](const std::string& target) {
      SCOPED_TRACE(spec + " on " + target);
      CodecTest test(spec);
      EXPECT_EQ(test.encode(tensor, rng), payload);
      expect_same_bits(test.decode(payload, tensor.size()), values);
    });
  }
}

TEST(Cuts, CanonicalSpecNamesTheSameCodec) {
  for (const std::string& spec : tested_specs()) {
    const auto codec = make_codec(spec);
    EXPECT_EQ(make_codec(codec->spec())->spec(), codec->spec()) << spec;
  }
}

}  // namespace
}  // namespace gradwire
