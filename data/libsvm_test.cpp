#include "data/libsvm.h"

#include <algorithm>

#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire::data {
namespace {

class Libsvm : public testing::Test {
 protected:
  Dataset read(std::string_view text) {
    write_text(path_, text);
    return read_libsvm(path_);
  }

  // What is said behind the file's name.
  std::string refusal(std::string_view text) {
    const std::string message = message_of<FileError>([&] { read(text); });
    const std::string before = path_.string() + ": ";
    EXPECT_TRUE(message.starts_with(before)) << message;
    return message.substr(std::min(before.size(), message.size()));
  }

  const TestDirectory directory_;
  const std::filesystem::path path_ = directory_ / "data";
};

TEST_F(Libsvm, ReadsRowsOfFewFeatures) {
  const Dataset data = read("+1 1:0.5 3:-2\n-1 2:1e-3\n");
  EXPECT_EQ(data.labels, (std::vector<double>{1, -1}));
  EXPECT_EQ(data.rows.features, 3u);
  EXPECT_EQ(data.rows.starts, (std::vector<std::size_t>{0, 2, 3}));
  EXPECT_EQ(data.rows.columns, (std::vector<std::uint32_t>{0, 2, 1}));
  EXPECT_EQ(data.rows.values, (std::vector<double>{0.5, -2, 1e-3}));
}

TEST_F(Libsvm, TakesCommentsBlankLinesWindowsLineEndsAndRowsWithoutFeatures) {
  const Dataset data = read("# all\r\n\r\n2 1:1 # first\r\n \t\r\n1\r\n1.5 2:3");
  EXPECT_EQ(data.labels, (std::vector<double>{2, 1, 1.5}));
  EXPECT_EQ(data.rows.starts, (std::vector<std::size_t>{0, 1, 1, 2}));
}

TEST_F(Libsvm, ZeroIsNotKeptButCountsAsAFeature) {
  const Dataset data = read("1 1:1 7:0\n");
  EXPECT_EQ(data.rows.features, 7u);
  EXPECT_EQ(data.rows.columns.size(), 1u);
}

TEST_F(Libsvm, RefusalsSayTheLineWhatWasExpectedAndWhatWasFound) {
  EXPECT_EQ(refusal("1 1:1\nyes 1:1\n"),
            "line 2: expected a label, which is a number, found 'yes'");
  EXPECT_EQ(refusal("nan 1:1\n"), "line 1: expected a label, which is a number, found 'nan'");
  EXPECT_EQ(refusal("1 1:1 5\n"), "line 1: expected INDEX:VALUE, found '5'");
  EXPECT_EQ(refusal("1 0:1\n"), "line 1: expected an index from 1 to 268435456, found '0:1'");
  EXPECT_EQ(refusal("1 -1:1\n"), "line 1: expected an index from 1 to 268435456, found '-1:1'");
  EXPECT_EQ(refusal("1 99999999999:1\n"),
            "line 1: expected an index from 1 to 268435456, found '99999999999:1'");
  EXPECT_EQ(refusal("1 2:1 1:1\n"),
            "line 1: expected an index above 2, since indices rise in a row, found '1:1'");
  EXPECT_EQ(refusal("1 2:1 2:1\n"),
            "line 1: expected an index above 2, since indices rise in a row, found '2:1'");
  EXPECT_EQ(refusal("1 2:inf\n"),
            "line 1: expected a finite number behind the colon, found '2:inf'");
  EXPECT_EQ(refusal("1 2:\n"), "line 1: expected a finite number behind the colon, found '2:'");
  EXPECT_EQ(refusal("1 2:\x1b[31m\n"),
            "line 1: expected a finite number behind the colon, found '2:?[31m'");
}

TEST_F(Libsvm, FileWithoutRowsOrFeaturesIsRefused) {
  EXPECT_EQ(refusal(""), "has no rows");
  EXPECT_EQ(refusal("# nothing\n\n"), "has no rows");
  EXPECT_EQ(refusal("1\n2\n"), "has rows, but no features in them");
}

TEST_F(Libsvm, FileThatIsNotThereIsSaid) {
  EXPECT_NE(message_of<FileError>([&] { read_libsvm(directory_ / "absent"); }), "");
}

TEST_F(Libsvm, TwoLabelsBecomeSignsWhateverTheyWere) {
  Dataset data = read("2 1:1\n1 1:1\n2 1:1\n");
  map_labels_to_signs(data);
  EXPECT_EQ(data.labels, (std::vector<double>{1, -1, 1}));
}

TEST_F(Libsvm, OtherThanTwoLabelsAreRefusedWithThoseSeen) {
  const auto message = [&](std::string_view text) {
    Dataset data = read(text);
    return message_of<Error>([&] { map_labels_to_signs(data); });
  };
  EXPECT_EQ(message("3 1:1\n1 1:1\n2.5 1:1\n"),
            "logistic regression tells two labels apart, and there are 3: 1, 2.5, 3");
  EXPECT_EQ(message("1 1:1\n"), "logistic regression tells two labels apart, and there is one: 1");
  EXPECT_EQ(message("1 1:1\n2 1:1\n3 1:1\n4 1:1\n5 1:1\n6 1:1\n"),
            "logistic regression tells two labels apart, and there are 6: 1, 2, 3, 4, 5, ...");
}

TEST_F(Libsvm, ChecksumIsOfEverything) {
  const std::uint64_t sum = data_checksum(read("1 1:1\n2 2:1\n"));
  EXPECT_EQ(data_checksum(read("1 1:1 # a comment\n2 2:1\n")), sum);
  EXPECT_NE(data_checksum(read("1 1:1\n3 2:1\n")), sum);
  EXPECT_NE(data_checksum(read("1 1:1\n2 2:2\n")), sum);
  EXPECT_NE(data_checksum(read("1 1:1\n2 2:1 3:0\n")), sum);
}

TEST(LibsvmFiles, MushroomsHasTheRowsItIsKnownFor) {
  const std::filesystem::path path = "../shared/data/libsvm/mushrooms";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  Dataset data = read_libsvm(path);
  EXPECT_EQ(data.rows.size(), 8124u);
  EXPECT_EQ(data.rows.features, 112u);
  map_labels_to_signs(data);
  EXPECT_EQ(std::ranges::count(data.labels, 1.0), 4208);
}

}  // namespace
}  // namespace gradwire::data
