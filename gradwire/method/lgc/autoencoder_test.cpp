#include "gradwire/method/lgc/autoencoder.h"

#include "gradwire/core/error.h"
#include "gradwire/method/lgc/test_support.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

// What a code loses of the mean of vectors that it has not seen, as it is sent.
double error_of_mean(const Autoencoder& code, const std::vector<std::vector<float>>& vectors) {
  std::vector<float> wanted(vectors.front().size());
  std::vector<float> mean(wanted.size());
  std::vector<float> one(wanted.size());
  const float share = 1 / static_cast<float>(vectors.size());
  for (const std::vector<float>& vector : vectors) {
    code.decode(code.encode(vector), 1, 0, one);
    for (std::size_t i = 0; i < one.size(); ++i) {
      wanted[i] += share * vector[i];
      mean[i] += share * one[i];
    }
  }
  return relative_error(mean, wanted);
}

double learned_error(const CodeNetworkOptions& network, double bits, std::uint64_t steps) {
  Autoencoder code(network, bits);
  for (std::uint64_t step = 0; step < steps; ++step) {
    code.learn(smooth_vectors(3, 500, step), std::nullopt, step);
  }
  return error_of_mean(code, smooth_vectors(3, 500, 1000));
}

TEST(Autoencoder, LearnsWhatValuesHaveInCommon) {
  // One bit a value: plain values cannot say as much as a code of what is smooth in them.
  const double plain = learned_error({.kind = CodeKind::plain}, 1, 400);
  const double linear = learned_error({}, 1, 400);
  const double few = learned_error({.channels = 8}, 1, 400);
  EXPECT_LT(linear, 0.85 * plain);
  EXPECT_LT(few, 0.75 * plain);
}

TEST(Autoencoder, TheDeepCodeLearnsToo) {
  const CodeNetworkOptions deep{.kind = CodeKind::deep};
  const double before = learned_error(deep, 2, 1);
  const double after = learned_error(deep, 2, 120);
  EXPECT_LT(after, 0.6 * before);
}

TEST(Autoencoder, TheMeanOfLinearCodesIsTheCodeOfTheMean) {
  for (const CodeKind kind : {CodeKind::linear, CodeKind::plain}) {
    Autoencoder code({.kind = kind}, 2);
    const auto vectors = smooth_vectors(4, 203, 1);
    code.learn(vectors, std::nullopt, 1);
    std::vector<std::uint32_t> sums(code.symbols(203));
    std::vector<float> mean(203);
    for (const std::vector<float>& vector : vectors) {
      const std::vector<std::uint32_t> symbols = code.encode(vector);
      std::vector<float> one(203);
      code.decode(symbols, 1, 0, one);
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += symbols[i];
      for (std::size_t i = 0; i < one.size(); ++i) mean[i] += one[i] / 4;
    }
    std::vector<float> of_sums(203);
    code.decode(sums, 4, 0, of_sums);
    for (std::size_t i = 0; i < mean.size(); ++i) EXPECT_NEAR(of_sums[i], mean[i], 1e-5);
  }
}

TEST(Autoencoder, OneCodeForAllLearnsWhatTheOthersShare) {
  // The others are half of the leader's, and noise.
  constexpr std::size_t kValues = 500;
  const auto vectors_of = [](std::uint64_t step) {
    auto vectors = smooth_vectors(3, kValues, step);
    for (std::size_t i = 0; i < kValues; ++i) {
      vectors[0][i] = 0.5F * vectors[1][i] + 0.1F * vectors[0][i];
      vectors[2][i] = -0.5F * vectors[1][i] + 0.1F * vectors[2][i];
    }
    return vectors;
  };
  Autoencoder code({.decoders = 4}, 2);
  for (std::uint64_t step = 0; step < 150; ++step) code.learn(vectors_of(step), 1, step);
  const auto vectors = vectors_of(1000);
  const auto symbols = code.encode(vectors[1]);
  std::vector<float> made(kValues);
  for (const std::size_t rank : {0, 2}) {
    code.decode(symbols, 1, rank, made);
    EXPECT_LT(relative_error(made, vectors[rank]), 0.4) << rank;
  }
  code.decode(symbols, 1, 3, made);
  EXPECT_LT(relative_error(made, vectors[1]), 0.35);
}

TEST(Autoencoder, GoesOnToTheBitAfterLoading) {
  for (const CodeKind kind : {CodeKind::linear, CodeKind::deep, CodeKind::plain}) {
    const std::size_t decoders = kind == CodeKind::plain ? 1 : 3;
    const CodeNetworkOptions options{.kind = kind, .decoders = decoders};
    Autoencoder straight(options, 2);
    Autoencoder loaded(options, 2);
    for (std::uint64_t step = 0; step < 6; ++step) {
      if (step == 3) loaded.load(straight.save());
      const auto leader = decoders > 1 ? std::optional<std::size_t>(step % 2) : std::nullopt;
      straight.learn(smooth_vectors(2, 100, step), leader, step);
      if (step >= 3) loaded.learn(smooth_vectors(2, 100, step), leader, step);
    }
    EXPECT_EQ(straight.save(), loaded.save());
    const auto vector = smooth_vectors(1, 100, 9).front();
    EXPECT_EQ(straight.encode(vector), loaded.encode(vector));
  }
}

TEST(Autoencoder, RefusesWhatIsNoSavedCode) {
  Autoencoder code({}, 2);
  std::vector<float> saved = code.save();
  saved.pop_back();
  EXPECT_THROW(code.load(saved), Error);
}

TEST(Autoencoder, VectorsOfAnyLengthHaveCodes) {
  for (const CodeKind kind : {CodeKind::linear, CodeKind::deep, CodeKind::plain}) {
    Autoencoder code({.kind = kind}, 2);
    for (const std::size_t count : {0, 1, 15, 16, 17, 33}) {
      const auto vectors = smooth_vectors(2, count, 0);
      const auto symbols = code.encode(vectors[0]);
      EXPECT_EQ(symbols.size(), code.symbols(count));
      std::vector<float> made(count);
      code.decode(symbols, 1, 0, made);
      code.learn(vectors, std::nullopt, 1);
      for (const float value : made) EXPECT_TRUE(std::isfinite(value));
    }
  }
}

}  // namespace
}  // namespace gradwire
