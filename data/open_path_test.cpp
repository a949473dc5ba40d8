#include "data/open_path.h"

#include <algorithm>

#include "data/image_test_support.h"
#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire::data {
namespace {

class OpenPath : public testing::Test {
 protected:
  std::unique_ptr<Source> open(std::string_view name = ".", const SourceOptions& options = {}) {
    return open_path(directory_ / name, options);
  }
  std::string refusal(std::string_view name = ".") {
    return message_of<Error>([&] { open(name); });
  }
  void write(std::string_view name, std::string_view text) { write_text(directory_ / name, text); }

  void write_idx_files(std::string_view labels_of_test = "\1") {
    write_gzip(directory_ / "train-images-idx3-ubyte.gz", idx_file({2, 2, 3}, pixels(12)));
    write("train-labels.idx1-ubyte", idx_file({2}, std::string("\0\1", 2)));
    write("t10k-images.idx3-ubyte", idx_file({1, 2, 3}, pixels(6)));
    write("t10k-labels-idx1-ubyte", idx_file({1}, labels_of_test));
  }

  const TestDirectory directory_;
};

TEST_F(OpenPath, ADirectoryOfIdxFilesIsImages) {
  write_idx_files();
  const auto source = open();
  EXPECT_EQ(source->shape(), (SampleShape{.height = 2, .width = 3, .classes = 2}));
  EXPECT_EQ(source->size(Part::train), 2u);
  EXPECT_EQ(source->size(Part::test), 1u);
}

TEST_F(OpenPath, AMissingIdxFileIsNamed) {
  write_idx_files();
  std::filesystem::remove(directory_ / "t10k-labels-idx1-ubyte");
  EXPECT_EQ(refusal(), (directory_ / "." / "t10k-labels").string() +
                           ": there is no file whose name begins so");
}

TEST_F(OpenPath, ATestLabelThatIsNotTrainedOnIsRefused) {
  write_idx_files("\2");
  EXPECT_NE(refusal().find("offset 8: expected the label of record 0, from 0 to 1, found 2"),
            std::string::npos);
}

TEST_F(OpenPath, TestImagesOfAnotherShapeAreRefused) {
  write_idx_files();
  write("t10k-images.idx3-ubyte", idx_file({1, 3, 2}, pixels(6)));
  EXPECT_NE(refusal().find("has images of 3 x 2, and those to train on have 2 x 3"),
            std::string::npos);
}

TEST_F(OpenPath, ADirectoryOfCifarFilesIsImages) {
  for (const char* name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                           "data_batch_4.bin", "test_batch.bin"}) {
    write(name, cifar_record(3));
  }
  EXPECT_NE(refusal().find("data_batch_5.bin: cannot be opened"), std::string::npos);
  write("data_batch_5.bin", cifar_record(4) + cifar_record(5));
  const auto source = open();
  EXPECT_EQ(source->size(Part::train), 6u);
  EXPECT_EQ(source->shape().classes, 10u);
}

TEST_F(OpenPath, ADirectoryOfTextIsTestedOnItsValidPart) {
  write("train.txt", "abcabcabc");
  write("test.txt", "abcabc");
  EXPECT_EQ(open(".", {.context = 1})->size(Part::test), 5u);
  write("valid.txt", "abc");
  EXPECT_EQ(open(".", {.context = 1})->size(Part::test), 2u);
}

TEST_F(OpenPath, ADirectoryOfSomethingElseSaysWhatItCouldHave) {
  write("notes", "");
  EXPECT_NE(refusal().find("has no data to train on: expected idx files"), std::string::npos);
}

TEST_F(OpenPath, AFileOfIdxImagesHasItsLabelsBesideIt) {
  std::string labels;
  for (int i = 0; i < 20; ++i) labels.push_back(static_cast<char>(i % 4));
  write("my-images.idx3", idx_file({20, 2, 2}, pixels(80)));
  EXPECT_NE(refusal("my-images.idx3").find("my-labels.idx1: cannot be opened"), std::string::npos);
  write("my-labels.idx1", idx_file({20}, labels));
  const auto source = open("my-images.idx3");
  EXPECT_EQ(source->name(), "my-images.idx3");
  EXPECT_EQ(source->size(Part::train), 18u);
  EXPECT_EQ(source->size(Part::test), 2u);
  write("digits", idx_file({20, 2, 2}, pixels(80)));
  EXPECT_NE(refusal("digits").find("expected 'images' in the name"), std::string::npos);
}

TEST_F(OpenPath, ACifarFileHoldsATenthOut) {
  std::string file;
  for (std::uint8_t i = 0; i < 10; ++i) file += cifar_record(i);
  write("some.bin", file);
  EXPECT_EQ(open("some.bin")->size(Part::train), 9u);
  write("one.bin", cifar_record(1));
  EXPECT_NE(refusal("one.bin").find("has one image"), std::string::npos);
}

TEST_F(OpenPath, AFileWithIndicesAndValuesIsLibsvm) {
  for (const char* text :
       {"1 1:2\n2 1:3\n", "# rows\n\n+1 7:2 9:1\n-1 1:0.5\n", " 0.5\t3:1\n1\n"}) {
    write("rows", text);
    EXPECT_EQ(open("rows")->shape().kind, SampleShape::Kind::features) << text;
  }
}

TEST_F(OpenPath, AnyOtherTextIsText) {
  for (const std::string begin :
       {"1 word", "12:30 is a time", "1: one", "#", "word 1:2", "1 2 3:4"}) {
    write("text", begin + std::string(100, 'x'));
    EXPECT_EQ(open("text", {.context = 4})->shape().kind, SampleShape::Kind::text) << begin;
  }
}

TEST_F(OpenPath, AFileThatIsNoTextSaysWhatItCouldBe) {
  write("program", std::string("\x7f"
                               "ELF\0\0",
                               6));
  EXPECT_EQ(refusal("program"),
            (directory_ / "program").string() +
                ": offset 4: expected text, since the file is neither idx, CIFAR-binary (.bin) nor "
                "LIBSVM, found a zero byte");
}

TEST_F(OpenPath, AnEmptyFileIsTooShort) {
  write("empty", "");
  EXPECT_NE(refusal("empty").find("training part has 0 tokens"), std::string::npos);
}

}  // namespace
}  // namespace gradwire::data
