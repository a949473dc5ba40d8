#include "data/source.h"

#include <array>
#include <filesystem>

#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire::data {
namespace {

#define SKIP_WITHOUT(path) \
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is missing"

void expect_balanced_classes(const Source& source, int samples_of_each) {
  std::vector<int> counts(source.shape().classes);
  for (const double label : source.labels()) ++counts[static_cast<std::size_t>(label)];
  for (const int count : counts) EXPECT_EQ(count, samples_of_each);
}

TEST(Source, FashionMnistHasItsShapeAndBalancedClasses) {
  SKIP_WITHOUT("/usr/share/datasets/fashion-mnist");
  const auto source = open_source("fashion-mnist", {});
  EXPECT_EQ(source->name(), "fashion-mnist");
  EXPECT_EQ(source->shape(),
            (SampleShape{.channels = 1, .height = 28, .width = 28, .classes = 10}));
  EXPECT_EQ(source->size(Part::train), 60000u);
  EXPECT_EQ(source->size(Part::test), 10000u);
  expect_balanced_classes(*source, 6000);
}

TEST(Source, MnistHasItsShape) {
  SKIP_WITHOUT("datasets/mnist");
  const auto source = open_source("mnist", {});
  EXPECT_EQ(source->size(Part::train), 60000u);
  EXPECT_EQ(source->size(Part::test), 10000u);
  EXPECT_EQ(source->shape().classes, 10u);
}

TEST(Source, Cifar10HasItsShapeAndBalancedClassesAndIsChangedAtRandom) {
  SKIP_WITHOUT("datasets/cifar10");
  const auto source = open_source("cifar10", {});
  EXPECT_EQ(source->shape(),
            (SampleShape{.channels = 3, .height = 32, .width = 32, .classes = 10}));
  EXPECT_EQ(source->size(Part::train), 50000u);
  EXPECT_EQ(source->size(Part::test), 10000u);
  expect_balanced_classes(*source, 5000);
  const std::vector<std::uint32_t> samples(2, 0);
  Batch batch;
  source->fill_train(samples, {.seed = 1}, batch);
  EXPECT_EQ(batch.targets[0], 6);  // a frog
  EXPECT_FALSE(
      std::equal(batch.values.begin(), batch.values.begin() + 3072, batch.values.begin() + 3072));
}

TEST(Source, GeneratedImagesAreAFunctionOfTheSeed) {
  const auto source = open_source("generated", {});
  EXPECT_EQ(source->name(), "generated");
  EXPECT_EQ(source->shape(),
            (SampleShape{.channels = 1, .height = 28, .width = 28, .classes = 10}));
  EXPECT_EQ(source->checksum(), open_source("generated", {})->checksum());
  EXPECT_NE(source->checksum(), open_source("generated", {.seed = 2})->checksum());
}

TEST(Source, GeneratedTextHasCharactersOrWords) {
  const auto source = open_source("generated-text", {.context = 64});
  EXPECT_EQ(source->shape(),
            (SampleShape{.kind = SampleShape::Kind::text, .width = 64, .classes = 30}));
  EXPECT_EQ(source->size(Part::train), 180'000u / 64);
  const auto words = open_source("generated-text", {.context = 64, .words = true});
  EXPECT_GT(words->shape().classes, 2000u);
  EXPECT_GT(words->size(Part::train), 800u);
}

TEST(Source, GeneratedSegmentsHaveAClassForEachPixel) {
  const auto source = open_source("generated-segments", {});
  EXPECT_EQ(
      source->shape(),
      (SampleShape{.kind = SampleShape::Kind::segments, .height = 28, .width = 28, .classes = 4}));
  EXPECT_EQ(source->shape().targets(), 28u * 28);
  EXPECT_EQ(source->checksum(), open_source("generated-segments", {})->checksum());
  EXPECT_NE(source->checksum(), open_source("generated-segments", {.seed = 2})->checksum());
  Batch batch;
  source->fill_test(0, 400, batch);
  ASSERT_EQ(batch.values.size(), 400u * 28 * 28);
  ASSERT_EQ(batch.targets.size(), 400u * 28 * 28);
  std::array<double, 4> shares{};
  for (const std::int64_t target : batch.targets) {
    shares[static_cast<std::size_t>(target)] += 1.0 / static_cast<double>(batch.targets.size());
  }
  EXPECT_GT(shares[0], 0.5);  // background
  for (std::size_t i = 1; i < 4; ++i) EXPECT_GT(shares[i], 0.03) << i;
}

TEST(Source, WordsOfWikitextAreCountedAsUsual) {
  SKIP_WITHOUT("../shared/data/text/wikitext-2");
  const auto source = open_source("../shared/data/text/wikitext-2/", {.context = 1, .words = true});
  EXPECT_EQ(source->name(), "wikitext-2");
  EXPECT_EQ(source->shape().classes, 33278u);
  EXPECT_EQ(source->size(Part::train), 2'088'628u - 1);
  EXPECT_EQ(source->size(Part::test), 217'646u - 1);
}

TEST(Source, AdultHasItsOwnTestFile) {
  SKIP_WITHOUT("../shared/data/libsvm/a9a");
  const auto source = open_source("../shared/data/libsvm/a9a", {});
  EXPECT_EQ(source->name(), "a9a");
  EXPECT_EQ(source->size(Part::train), 32561u);
  EXPECT_EQ(source->size(Part::test), 16281u);
  EXPECT_EQ(source->shape(),
            (SampleShape{.kind = SampleShape::Kind::features, .width = 123, .classes = 2}));
}

TEST(Source, AnUnknownNameListsAllAndSuggestsTheNearest) {
  EXPECT_EQ(message_of<Error>([] { open_source("fashionmnist", {}); }),
            "there is no data called 'fashionmnist', and no file or directory either; did you mean "
            "'fashion-mnist'?");
  EXPECT_EQ(message_of<Error>([] { open_source("some/file", {}); }),
            "there is no data called 'some/file', and no file or directory either; known names are "
            "fashion-mnist, mnist, cifar10, generated, generated-text, generated-segments");
}

TEST(Source, AContextOfNothingIsRefused) {
  EXPECT_NE(message_of<Error>([] { open_source("generated-text", {.context = 0}); }), "");
}

}  // namespace
}  // namespace gradwire::data
