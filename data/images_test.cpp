#include "data/images.h"

#include "data/image_test_support.h"
#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire::data {
namespace {

class ImageFiles : public testing::Test {
 protected:
  void write(std::string_view images, std::string_view labels) {
    write_text(images_, images);
    write_text(labels_, labels);
  }

  std::string refusal() {
    return message_of<FileError>([&] { read_idx_images(images_, labels_, 10); });
  }

  const TestDirectory directory_;
  const std::filesystem::path images_ = directory_ / "images";
  const std::filesystem::path labels_ = directory_ / "labels";
};

TEST_F(ImageFiles, AreTheSamePlainAndCompressed) {
  const std::string text = idx_file({3, 4, 5}, pixels(60));
  write(text, idx_file({3}, std::string("\1\0\7", 3)));
  const Images plain = read_idx_images(images_, labels_);
  EXPECT_EQ(plain.size(), 3u);
  EXPECT_EQ(plain.height, 4u);
  EXPECT_EQ(plain.width, 5u);
  EXPECT_TRUE(std::ranges::equal(plain.pixels, bytes_of(pixels(60))));
  EXPECT_EQ(plain.labels, (std::vector<std::uint8_t>{1, 0, 7}));
  EXPECT_EQ(classes_of(plain), 8u);
  write_gzip(images_, text);
  EXPECT_EQ(read_idx_images(images_, labels_).pixels, plain.pixels);
}

TEST_F(ImageFiles, ADamagedFileIsNamedWithThePlace) {
  write("damaged", idx_file({1}, "\1"));
  EXPECT_TRUE(
      refusal().starts_with(images_.string() + ": offset 0: expected the idx magic 0x00000803"));
  write(idx_file({1, 1, 1}, "x"), "damaged");
  EXPECT_TRUE(
      refusal().starts_with(labels_.string() + ": offset 0: expected the idx magic 0x00000801"));
}

TEST_F(ImageFiles, AMissingFileIsNamed) {
  write_text(images_, idx_file({1, 1, 1}, "x"));
  EXPECT_EQ(refusal(), labels_.string() + ": cannot be opened: No such file or directory");
}

TEST_F(ImageFiles, ALabelOutOfRangeNamesItsRecord) {
  write(idx_file({2, 1, 1}, "xy"), idx_file({2}, "\1\x0a"));
  EXPECT_EQ(refusal(),
            labels_.string() + ": offset 9: expected the label of record 1, from 0 to 9, found 10");
}

TEST_F(ImageFiles, ImagesAndLabelsAreAsMany) {
  write(idx_file({2, 1, 1}, "xy"), idx_file({3}, "\1\1\1"));
  EXPECT_EQ(refusal(), labels_.string() + ": has 3 labels for the 2 images of " + images_.string());
}

TEST_F(ImageFiles, CifarFilesComeOneAfterTheOther) {
  write(cifar_record(3, 1) + cifar_record(4, 2), cifar_record(5, 3));
  const std::filesystem::path files[] = {images_, labels_};
  const Images images = read_cifar_images(files);
  EXPECT_EQ(images.labels, (std::vector<std::uint8_t>{3, 4, 5}));
  EXPECT_TRUE(std::ranges::equal(images.image(2), bytes_of(pixels(3072, 3))));
  write_text(labels_, "short");
  EXPECT_EQ(message_of<FileError>([&] { read_cifar_images(files); }),
            labels_.string() +
                ": offset 5: expected all 3073 bytes of record 0, found the end of the file "
                "behind 5");
}

}  // namespace
}  // namespace gradwire::data
