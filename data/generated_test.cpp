#include "data/generated.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <sstream>
#include <vector>

#include "gtest/gtest.h"

namespace gradwire::data {
namespace {

using Values = std::vector<double>;

double value_of(std::byte pixel) { return std::to_integer<int>(pixel) - 128.0; }

std::vector<Values> class_means(const Images& images) {
  std::vector<Values> means(kGeneratedClasses, Values(images.elements()));
  for (std::size_t i = 0; i < images.size(); ++i) {
    const auto image = images.image(i);
    for (std::size_t j = 0; j < image.size(); ++j) {
      means[images.labels[i]][j] += value_of(image[j]);
    }
  }
  return means;
}

// The class whose mean points most in the direction of the image.
std::size_t nearest(const std::vector<Values>& means, std::span<const std::byte> image) {
  std::size_t best = 0;
  double most = -1e300;
  for (std::size_t label = 0; label < means.size(); ++label) {
    double product = 0, square = 0;
    for (std::size_t j = 0; j < image.size(); ++j) {
      product += means[label][j] * value_of(image[j]);
      square += means[label][j] * means[label][j];
    }
    if (product / std::sqrt(square) > most) {
      most = product / std::sqrt(square);
      best = label;
    }
  }
  return best;
}

TEST(Generated, ImagesCanBeLearnedButTheirMeansAreNotEnough) {
  const GeneratedImages images = generate_images(1);
  const auto means = class_means(images.train);
  std::size_t right = 0;
  for (std::size_t i = 0; i < images.test.size(); ++i) {
    right += nearest(means, images.test.image(i)) == images.test.labels[i];
  }
  const double share = static_cast<double>(right) / static_cast<double>(images.test.size());
  EXPECT_GT(share, 0.4);
  EXPECT_LT(share, 0.9);
}

TEST(Generated, ImagesAreAFunctionOfTheSeed) {
  const GeneratedImages images = generate_images(1);
  EXPECT_EQ(images.train.size(), 6000u);
  EXPECT_EQ(images.test.size(), 1000u);
  EXPECT_EQ(images.train.pixels.size(), 6000u * 28 * 28);
  EXPECT_TRUE(images.train.pixels == generate_images(1).train.pixels);
  EXPECT_FALSE(images.train.pixels == generate_images(2).train.pixels);
}

TEST(Generated, TextIsAFunctionOfTheSeed) {
  EXPECT_TRUE(generate_text(1) == generate_text(1));
  EXPECT_FALSE(generate_text(1) == generate_text(2));
  EXPECT_EQ(generate_text(1).size(), 200'000u);
}

// Counts are of 200,000 characters after 900 pairs; 0.05 bits are far more than chance gives.
TEST(Generated, TextHasSevenQuartersOfABitACharacterAfterTheTwoBefore) {
  const std::string text = generate_text(1);
  std::map<std::string, std::map<char, double>> counts;
  for (std::size_t i = 2; i < text.size(); ++i) ++counts[text.substr(i - 2, 2)][text[i]];
  double bits = 0;
  for (const auto& [before, next] : counts) {
    double sum = 0;
    for (const auto& [character, count] : next) sum += count;
    for (const auto& [character, count] : next) bits -= count * std::log2(count / sum);
  }
  EXPECT_NEAR(bits / static_cast<double>(text.size() - 2), 1.7, 0.1);  // choices may coincide
  EXPECT_GT(counts.size(), 500u);
}

// Shapes stand out from the background, but no class is lighter than another on average.
TEST(Generated, SegmentsAreAFunctionOfTheSeedAndBrightnessSaysNothingOfTheClass) {
  const GeneratedSegments segments = generate_segments(1);
  EXPECT_TRUE(segments.train.classes == generate_segments(1).train.classes);
  EXPECT_FALSE(segments.train.classes == generate_segments(2).train.classes);
  ASSERT_EQ(segments.train.classes.size(), segments.train.images.pixels.size());
  std::array<double, kSegmentClasses> sums{};
  std::array<double, kSegmentClasses> counts{};
  for (std::size_t i = 0; i < segments.train.classes.size(); ++i) {
    sums[segments.train.classes[i]] += value_of(segments.train.images.pixels[i]);
    ++counts[segments.train.classes[i]];
  }
  for (std::size_t i = 0; i < kSegmentClasses; ++i)
    EXPECT_LT(std::abs(sums[i] / counts[i]), 8) << i;
}

TEST(Generated, WordsAreAFunctionOfTheSeedAndFollowTheirFrequencies) {
  const std::string text = generate_words(1);
  EXPECT_TRUE(text == generate_words(1));
  EXPECT_FALSE(text == generate_words(2));
  std::map<std::string, double> counts;
  std::istringstream words(text);
  for (std::string word; words >> word;) ++counts[word];
  EXPECT_GT(counts.size(), 2000u);
  EXPECT_LE(counts.size(), 4095u);
  EXPECT_EQ(std::ranges::count(text, '\n'), 3000);
}

}  // namespace
}  // namespace gradwire::data
