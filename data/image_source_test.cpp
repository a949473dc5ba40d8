#include "data/image_source.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "data/image_test_support.h"
#include "gradwire/core/allocation_test_support.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire::data {
namespace {

constexpr std::size_t kSide = 6;
constexpr Rng kRandom{.seed = 7, .purpose = Purpose::data};

Images some_images(std::size_t count, std::size_t first = 0) {
  Images images{.channels = 3, .height = kSide, .width = kSide};
  const std::string text = pixels(count * images.elements(), first);
  const auto bytes = bytes_of(text);
  images.pixels.assign(bytes.begin(), bytes.end());
  for (std::size_t i = 0; i < count; ++i) images.labels.push_back(static_cast<std::uint8_t>(i % 5));
  return images;
}

std::unique_ptr<Source> some_source(bool crops_and_mirrors) {
  return make_image_source(some_images(20), some_images(8, 1000),
                           {.name = "some", .classes = 5, .crops_and_mirrors = crops_and_mirrors});
}

// The image as it is when it is cropped from a padded one at a place, and perhaps mirrored.
std::vector<float> changed(std::span<const float> image, int top, int left, bool mirrored) {
  constexpr int kSize = kSide;
  constexpr int kPadding = kCropPadding;
  std::vector<float> result;
  for (int channel = 0; channel < 3; ++channel) {
    for (int y = 0; y < kSize; ++y) {
      for (int x = 0; x < kSize; ++x) {
        const int from_y = y + top - kPadding;
        const int from_x = (mirrored ? kSize - 1 - x : x) + left - kPadding;
        const bool is_inside = 0 <= from_y && from_y < kSize && 0 <= from_x && from_x < kSize;
        const int place = (channel * kSize + from_y) * kSize + from_x;
        result.push_back(is_inside ? image[static_cast<std::size_t>(place)] : 0);
      }
    }
  }
  return result;
}

TEST(ImageSource, ChannelsHaveMeanZeroAndDeviationOneOverTheTrainingPart) {
  const auto source = some_source(false);
  std::vector<std::uint32_t> all(20);
  for (std::uint32_t i = 0; i < 20; ++i) all[i] = i;
  Batch batch;
  source->fill_train(all, kRandom, batch);
  constexpr std::size_t kPixels = kSide * kSide;
  for (std::size_t channel = 0; channel < 3; ++channel) {
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < 20; ++i) {
      for (std::size_t pixel = 0; pixel < kPixels; ++pixel) {
        const double value = batch.values[(i * 3 + channel) * kPixels + pixel];
        sum += value;
        squares += value * value;
      }
    }
    EXPECT_NEAR(sum / (20 * kPixels), 0, 1e-6);
    EXPECT_NEAR(squares / (20 * kPixels), 1, 1e-6);
  }
}

TEST(ImageSource, AChannelOfOneColourIsZero) {
  Images images{.height = 2, .width = 2, .pixels = std::vector<std::byte>(8, std::byte{9})};
  images.labels = {0, 1};
  Batch batch;
  make_image_source(images, images, {.name = "grey", .classes = 2})->fill_test(0, 2, batch);
  EXPECT_EQ(batch.values, std::vector<float>(8, 0.0f));
}

TEST(ImageSource, SamplesComeAsAskedWithTheirLabels) {
  const auto source = some_source(false);
  Batch one, three;
  const std::uint32_t samples[] = {13, 2, 13};
  source->fill_train(samples, kRandom, three);
  source->fill_train(std::span(samples).subspan(1, 1), kRandom, one);
  EXPECT_EQ(three.targets, (std::vector<std::int64_t>{3, 2, 3}));
  const auto second = std::span(three.values).subspan(3 * kSide * kSide, 3 * kSide * kSide);
  EXPECT_TRUE(std::ranges::equal(second, one.values));
  source->fill_test(5, 3, three);
  EXPECT_EQ(three.targets, (std::vector<std::int64_t>{0, 1, 2}));
  source->fill_train({}, kRandom, three);
  EXPECT_EQ(three.samples, 0u);
  EXPECT_TRUE(three.values.empty());
}

TEST(ImageSource, ChangedImagesAreCropsOfPaddedOnesAndAllOfThemCome) {
  Batch plain, batch;
  const std::vector<std::uint32_t> samples(2000, 11);
  some_source(false)->fill_train(std::span(samples).first(1), kRandom, plain);
  std::vector<std::vector<float>> possible;
  for (int top = 0; top < 9; ++top) {
    for (int left = 0; left < 9; ++left) {
      for (const bool mirrored : {false, true}) {
        possible.push_back(changed(plain.values, top, left, mirrored));
      }
    }
  }
  some_source(true)->fill_train(samples, kRandom, batch);
  std::set<std::size_t> seen;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto image =
        std::span(batch.values).subspan(i * plain.values.size(), plain.values.size());
    const auto found = std::ranges::find_if(
        possible, [&](const auto& one) { return std::ranges::equal(one, image); });
    ASSERT_NE(found, possible.end()) << i;
    seen.insert(static_cast<std::size_t>(found - possible.begin()));
  }
  EXPECT_EQ(seen.size(), possible.size());
}

TEST(ImageSource, TheSameRandomNumbersGiveTheSameBatch) {
  const auto source = some_source(true);
  const std::uint32_t samples[] = {1, 2, 3, 4};
  Batch batch, again, other;
  source->fill_train(samples, kRandom, batch);
  source->fill_train(samples, kRandom, again);
  source->fill_train(samples, {.seed = 7, .step = 1, .purpose = Purpose::data}, other);
  EXPECT_EQ(batch.values, again.values);
  EXPECT_NE(batch.values, other.values);
}

TEST(ImageSource, TestImagesAreNeverChanged) {
  Batch changed, plain;
  some_source(true)->fill_test(0, 8, changed);
  some_source(false)->fill_test(0, 8, plain);
  EXPECT_EQ(changed.values, plain.values);
}

TEST(ImageSource, FillingABatchAgainDoesNotAllocate) {
  if (GW_ALLOCATOR_IS_TAKEN) GTEST_SKIP() << "a sanitizer counts allocations by itself";
  const auto source = some_source(true);
  const std::vector<std::uint32_t> samples(16, 3);
  Batch batch;
  source->fill_train(samples, kRandom, batch);
  const std::size_t before = allocations;
  source->fill_train(samples, kRandom, batch);
  source->fill_test(0, 8, batch);
  source->fill_train(samples, kRandom, batch);
  EXPECT_EQ(allocations, before);
}

TEST(ImageSource, ChecksumIsOfPixelsLabelsAndChanges) {
  const ImageSourceOptions options{.name = "some", .classes = 5};
  const auto checksum = [&](const Images& train, const Images& test) {
    return make_image_source(train, test, options)->checksum();
  };
  const Images train = some_images(20), test = some_images(8);
  std::set<std::uint64_t> sums = {checksum(train, test), checksum(test, train),
                                  some_source(false)->checksum(), some_source(true)->checksum()};
  Images other = train;
  other.pixels.back() ^= std::byte{1};
  sums.insert(checksum(other, test));
  other = train;
  other.labels.back() = 0;
  sums.insert(checksum(other, test));
  EXPECT_EQ(sums.size(), 6u);
  EXPECT_EQ(checksum(train, test), checksum(train, test));
}

}  // namespace
}  // namespace gradwire::data
