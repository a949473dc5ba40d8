#include "data/text_source.h"

#include <algorithm>
#include <set>

#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire::data {
namespace {

using Tokens = std::vector<std::int64_t>;

constexpr Rng kRandom{.seed = 7, .purpose = Purpose::data};

// Tokens that are their places: 30 to train on, 13 to test.
std::unique_ptr<Source> some_source(bool augment, std::size_t context = 4) {
  TokenizedText text;
  for (std::uint32_t i = 0; i < 30; ++i) text.train.push_back(i);
  for (std::uint32_t i = 0; i < 13; ++i) text.test.push_back(i + 10);
  text.vocabulary = 30;
  return make_text_source(text, "some", {.context = context, .augment = augment});
}

TEST(TextSource, ASampleIsItsTokensAndTheOneBehindEach) {
  const auto source = some_source(false);
  EXPECT_EQ(source->size(Part::train), 7u);
  EXPECT_EQ(source->size(Part::test), 3u);
  EXPECT_EQ(source->shape(),
            (SampleShape{.kind = SampleShape::Kind::text, .width = 4, .classes = 30}));
  Batch batch;
  const std::uint32_t samples[] = {6, 0};
  source->fill_train(samples, kRandom, batch);
  EXPECT_EQ(batch.tokens, (Tokens{24, 25, 26, 27, 0, 1, 2, 3}));
  EXPECT_EQ(batch.targets, (Tokens{25, 26, 27, 28, 1, 2, 3, 4}));
  source->fill_test(2, 1, batch);
  EXPECT_EQ(batch.tokens, (Tokens{18, 19, 20, 21}));
  EXPECT_EQ(batch.targets, (Tokens{19, 20, 21, 22}));
}

TEST(TextSource, MovedSamplesBeginUpToAContextLaterAndStayInTheText) {
  const auto source = some_source(true);
  for (const std::uint32_t sample : {0u, 3u, 6u}) {
    const std::vector<std::uint32_t> samples(200, sample);
    Batch batch;
    source->fill_train(samples, kRandom, batch);
    std::set<std::int64_t> moves;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      moves.insert(batch.tokens[4 * i] - 4 * sample);
      EXPECT_EQ(batch.targets[4 * i + 3], batch.tokens[4 * i] + 4);
    }
    EXPECT_EQ(moves, sample == 6 ? (std::set<std::int64_t>{0, 1})  // up to the last token
                                 : (std::set<std::int64_t>{0, 1, 2, 3}));
  }
}

TEST(TextSource, TestSamplesAreNeverMoved) {
  Batch moved, plain;
  some_source(true)->fill_test(0, 3, moved);
  some_source(false)->fill_test(0, 3, plain);
  EXPECT_EQ(moved.tokens, plain.tokens);
}

TEST(TextSource, LabelsArePlaces) {
  const auto source = some_source(true);
  EXPECT_TRUE(std::ranges::equal(source->labels(), std::vector<double>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(TextSource, ChecksumIsOfTheTextAndTheOptions) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "some words of a line\n";
  std::set<std::uint64_t> sums;
  for (const SourceOptions& options : {SourceOptions{.context = 2}, SourceOptions{.context = 3},
                                       SourceOptions{.context = 2, .augment = false},
                                       SourceOptions{.context = 1, .words = true}}) {
    sums.insert(make_text_source(cut_text(text, options), "", options)->checksum());
  }
  const SourceOptions options{.context = 2};
  sums.insert(make_text_source(cut_text(text + "!", options), "", options)->checksum());
  EXPECT_EQ(sums.size(), 5u);
}

TEST(TextSource, TextShorterThanASampleIsRefused) {
  EXPECT_EQ(message_of<Error>([] { some_source(true, 13); }),
            "some: its test part has 13 tokens, and a sample of 13 takes 14: choose a shorter "
            "context (--context), or a longer text");
  EXPECT_NE(message_of<Error>([] { some_source(true, 30); }).find("training part has 30"),
            std::string::npos);
}

}  // namespace
}  // namespace gradwire::data
