// Claims about the coding of a convolution's indices: they come back, a history makes them shorter,
// any bytes are indices within the tensor or are refused, and the integers of the model are those
// of its logarithms.
#include "gradwire/codec/kernel_coder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "gradwire/core/random.h"

namespace gradwire {
namespace {

constexpr KernelShape kShape = {.rows = 24, .columns = 20, .elements = 9, .width = 3};

// Of a convolution some kernels of which are sent more often, with indices that are neighbours.
std::vector<std::uint32_t> message(std::uint64_t step, std::size_t kept) {
  const RandomStream random = Rng{.seed = 7, .step = step}.stream(0, 0);
  const std::size_t kernels = kShape.rows * kShape.columns;
  std::set<std::uint32_t> some;
  for (std::uint32_t i = 0; some.size() < kept; ++i) {
    const auto below = [&](std::uint32_t at, std::uint64_t limit) {
      return static_cast<std::uint32_t>(random.at(4 * i + at) * limit >> 32);
    };
    const std::uint32_t kernel = below(0, 4) > 0 ? below(1, kernels / 8) : below(1, kernels);
    const std::uint32_t place = below(2, 8);
    for (std::uint32_t j = place; j < place + 2 && some.size() < kept; ++j) {
      some.insert(kernel * 9 + j);
    }
  }
  return {some.begin(), some.end()};
}

struct Rank {
  explicit Rank(std::size_t kept) : history(kShape, kept, model) {}

  KernelModel model;
  KernelHistory history;
  KernelCoder coder;

  std::vector<std::byte> encode(const std::vector<std::uint32_t>& indices) {
    std::vector<std::byte> bytes(16 * indices.size() + 1024);
    RangeEncoder encoder(bytes);
    coder.encode(history, model, indices, encoder);
    bytes.resize(encoder.finish().value());
    return bytes;
  }
  void record(const std::vector<std::uint32_t>& indices) {
    history.learn(indices, model);
    history.record(indices, model);
  }
};

// A few indices, so that rows are asked for; many; and all elements.
TEST(KernelCoder, IndicesComeBackAndAHistoryMakesThemShorter) {
  for (const std::size_t kept : {1ul, 20ul, 200ul, kShape.all()}) {
    Rank rank(kept);
    std::size_t first_bytes = 0;
    std::size_t bytes = 0;
    for (std::uint64_t step = 0; step < 40; ++step) {
      std::vector<std::uint32_t> indices(kept);
      for (std::size_t i = 0; i < kept; ++i) indices[i] = static_cast<std::uint32_t>(i);
      if (kept < 500) indices = message(step, kept);
      const std::vector<std::byte> coded = rank.encode(indices);
      RangeDecoder decoder(coded);
      std::vector<std::uint32_t> back(kept);
      ASSERT_TRUE(rank.coder.decode(rank.history, rank.model, decoder, back))
          << kept << ", " << step;
      ASSERT_EQ(back, indices) << kept << ", step " << step;
      ASSERT_GE(decoder.bytes_read(), coded.size());
      bytes = coded.size();
      if (step == 0) first_bytes = bytes;
      rank.record(indices);
    }
    if (kept == 200) {
      EXPECT_LT(2 * bytes, 2 * first_bytes - kept / 3);  // 4/3 bits for each index
    }
  }
}

TEST(KernelCoder, AnyBytesAreIndicesInRangeOrAreRefused) {
  Rank rank(200);
  for (std::uint64_t step = 0; step < 10; ++step) rank.record(message(step, 200));
  const std::vector<std::byte> bytes = rank.encode(message(10, 200));
  std::size_t refused = 0;
  const auto decode = [&](std::span<const std::byte> damaged) {
    RangeDecoder decoder(damaged);
    std::vector<std::uint32_t> back(200);
    if (!rank.coder.decode(rank.history, rank.model, decoder, back)) {
      ++refused;
      return;
    }
    for (std::size_t i = 0; i < back.size(); ++i) {
      ASSERT_LT(back[i], kShape.all());
      if (i > 0) {
        ASSERT_GT(back[i], back[i - 1]);
      }
    }
  };
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const unsigned pattern : {0x01u, 0x80u, 0xffu}) {
      std::vector<std::byte> damaged = bytes;
      damaged[at] ^= static_cast<std::byte>(pattern);
      decode(damaged);
    }
  }
  decode({});
  decode(std::vector<std::byte>(4000, std::byte{0xff}));
  EXPECT_GT(refused, 0u);
}

TEST(KernelHistory, IsSavedToTheBitWithItsModel) {
  Rank rank(200);
  for (std::uint64_t step = 0; step < 20; ++step) rank.record(message(step, 200));
  std::vector<std::byte> model;
  rank.model.save(model);
  ASSERT_EQ(model.size(), KernelModel::saved_bytes());
  std::vector<std::byte> history;
  rank.history.save(history);
  Rank loaded(200);
  loaded.model.load(model);
  ASSERT_TRUE(loaded.history.load(history, loaded.model));
  for (std::uint64_t step = 20; step < 40; ++step) {
    const std::vector<std::uint32_t> indices = message(step, 200);
    ASSERT_EQ(loaded.encode(indices), rank.encode(indices));
    loaded.record(indices);
    rank.record(indices);
  }
  history.pop_back();
  EXPECT_FALSE(loaded.history.load(history, loaded.model));
}

// A model of any bytes has probabilities that a range coder can take.
TEST(KernelModel, OfAnyBytesCodes) {
  for (const std::byte fill :
       {std::byte{0x00}, std::byte{0x7f}, std::byte{0x80}, std::byte{0xff}}) {
    Rank rank(200);
    rank.model.load(std::vector<std::byte>(KernelModel::saved_bytes(), fill));
    rank.record(message(0, 200));
    const std::vector<std::uint32_t> indices = message(1, 200);
    std::vector<std::byte> bytes(100'000);
    RangeEncoder encoder(bytes);
    rank.coder.encode(rank.history, rank.model, indices, encoder);
    bytes.resize(encoder.finish().value());
    RangeDecoder decoder(bytes);
    std::vector<std::uint32_t> back(200);
    ASSERT_TRUE(rank.coder.decode(rank.history, rank.model, decoder, back));
    EXPECT_EQ(back, indices);
  }
}

TEST(LogisticMixer, LogarithmsAndProbabilitiesAreThoseOfMathematics) {
  for (const std::uint64_t number : {1ul, 2ul, 3ul, 255ul, 256ul, 1000ul, 123456789ul}) {
    EXPECT_NEAR(log_of(number), 256 * std::log2(static_cast<double>(number)), 1.6) << number;
  }
  for (std::int32_t logit = -2000; logit <= 2000; logit += 100) {
    const double odds = std::exp2(logit / 256.0);
    EXPECT_NEAR(probability_of(logit), 65536 * odds / (1 + odds), 17) << logit;
  }
  EXPECT_GT(probability_of(-1'000'000), 0u);
  EXPECT_LT(probability_of(1'000'000), 65536u);
}

TEST(LogisticMixer, SeenBitsAndWeightsApproachTheTruth) {
  const RandomStream random = Rng{.seed = 3}.stream(0, 0);
  SeenBits seen;
  Mixer<2> mixer({0, 0});
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    const bool bit = random.at(i) % 10 == 0;
    const Mixer<2>::Inputs inputs = {seen.logit(), kLogOne};
    if (i > 100) mixer.learn(inputs, bit);
    seen.learn(bit);
  }
  const double mixed = probability_of(Mixer<2>::rounded(mixer.sum({seen.logit(), kLogOne})));
  EXPECT_NEAR(mixed / 65536, 0.1, 0.04);  // 256 bits that count: 0.02 off is one standard error
}

}  // namespace
}  // namespace gradwire
