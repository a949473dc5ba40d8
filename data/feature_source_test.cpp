#include "data/feature_source.h"

#include <algorithm>

#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire::data {
namespace {

class Features : public testing::Test {
 protected:
  std::unique_ptr<Source> open(std::string_view text, std::string_view test_text = "",
                               std::uint64_t seed = 1) {
    write_text(directory_ / "rows", text);
    if (!test_text.empty()) write_text(directory_ / "rows.t", test_text);
    return open_libsvm(directory_ / "rows", "rows", seed);
  }

  const TestDirectory directory_;
};

std::string many_rows(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += std::to_string(i % 3) + " 1:" + std::to_string(i) + "\n";
  }
  return text;
}

TEST_F(Features, RowsAreDenseAndLabelsAreClasses) {
  const auto source = open("-1 1:0.5 3:2\n5 2:1\n2\n", "5 4:7\n");
  EXPECT_EQ(source->shape(),
            (SampleShape{.kind = SampleShape::Kind::features, .width = 4, .classes = 3}));
  Batch batch;
  const std::uint32_t samples[] = {1, 0};
  source->fill_train(samples, {}, batch);
  EXPECT_EQ(batch.values, (std::vector<float>{0, 1, 0, 0, 0.5f, 0, 2, 0}));
  EXPECT_EQ(batch.targets, (std::vector<std::int64_t>{2, 0}));
  source->fill_test(0, 1, batch);
  EXPECT_EQ(batch.values, (std::vector<float>{0, 0, 0, 7}));
  EXPECT_EQ(batch.targets, (std::vector<std::int64_t>{2}));
  EXPECT_TRUE(std::ranges::equal(source->labels(), std::vector<double>{0, 2, 1}));
}

TEST_F(Features, WithoutATestFileATenthIsHeldOutByTheSeed) {
  const std::string text = many_rows(100);
  const auto source = open(text);
  EXPECT_EQ(source->size(Part::train), 90u);
  EXPECT_EQ(source->size(Part::test), 10u);
  EXPECT_EQ(source->checksum(), open(text)->checksum());
  EXPECT_NE(source->checksum(), open(text, "", 2)->checksum());
}

TEST_F(Features, ALabelThatIsHeldOutIsStillAClass) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(open("1 1:1\n2 1:1\n3 1:1\n", "", seed)->shape().classes, 3u);
  }
}

TEST_F(Features, ALabelOnlyOfTheTestFileIsRefused) {
  EXPECT_EQ(message_of<Error>([&] { open("1 1:1\n2 1:1\n", "1 1:1\n3.5 1:1\n"); }),
            "rows: row 1 of the test part has label 3.5, which no training sample has");
}

TEST_F(Features, TooManyFeaturesOrClassesAreRefused) {
  EXPECT_EQ(message_of<Error>([&] { open("1 100001:1\n2 1:1\n"); }),
            "rows: rows have 100001 features, and a network takes all of them, at most 100000");
  std::string text;
  for (int i = 0; i < 1001; ++i) text += std::to_string(0.5 * i) + " 1:1\n";
  EXPECT_EQ(message_of<Error>([&] { open(text); }),
            "rows: there are 1001 distinct labels, so they seem to be numbers, not classes; there "
            "can be 1000 classes");
}

TEST_F(Features, OneRowIsTooFew) {
  EXPECT_EQ(message_of<FileError>([&] { open("1 1:1\n"); }),
            (directory_ / "rows").string() + ": has one row, and some must be held out for tests");
}

}  // namespace
}  // namespace gradwire::data
