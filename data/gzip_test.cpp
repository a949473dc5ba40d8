#include "data/gzip.h"

#include "data/image_test_support.h"
#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire::data {
namespace {

class Gzip : public testing::Test {
 protected:
  std::string compressed(std::string_view text) {
    write_gzip(path_, text);
    return read_text(path_);
  }

  // What the file inflates to.
  std::string inflated(std::string_view file) {
    write_text(path_, file);
    const auto bytes = read_plain_or_gzip(path_);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  // What is said behind the file's name.
  std::string refusal(std::string_view file) {
    const std::string message = message_of<FileError>([&] { inflated(file); });
    const std::string before = path_.string() + ": ";
    EXPECT_TRUE(message.starts_with(before)) << message;
    return message.substr(std::min(before.size(), message.size()));
  }

  const TestDirectory directory_;
  const std::filesystem::path path_ = directory_ / "images";
};

TEST_F(Gzip, InflatesWhatIsCompressedAndLeavesTheRestAlone) {
  for (const std::string& text :
       {std::string(), std::string("abc"), pixels(300000), std::string(5000000, 'x')}) {
    EXPECT_EQ(inflated(compressed(text)), text);
  }
  EXPECT_EQ(inflated("plain"), "plain");
  EXPECT_EQ(inflated(""), "");
}

TEST_F(Gzip, StreamsOneAfterTheOtherAreOneFile) {
  EXPECT_EQ(inflated(compressed("abc") + compressed("def")), "abcdef");
}

TEST_F(Gzip, ATruncatedFileSaysAtWhichOffset) {
  const std::string file = compressed(pixels(1000));
  const std::string place = std::to_string(file.size() - 5);
  EXPECT_EQ(refusal(file.substr(0, file.size() - 5)),
            "offset " + place + ": expected more of the gzip stream, found the end of the file");
  for (std::size_t bytes = 2; bytes < file.size(); ++bytes) {
    EXPECT_NE(refusal(file.substr(0, bytes)), "");
  }
}

TEST_F(Gzip, AWrongChecksumIsRefused) {
  std::string file = compressed(pixels(1000));
  file[file.size() - 6] ^= 1;
  EXPECT_NE(refusal(file).find("expected a sound gzip stream, found incorrect data check"),
            std::string::npos);
}

TEST_F(Gzip, BytesBehindTheStreamAreRefused) {
  const std::string file = compressed("abc");
  EXPECT_EQ(refusal(file + "zz"), "offset " + std::to_string(file.size()) +
                                      ": expected the end of the file, found 2 more bytes");
}

TEST_F(Gzip, WhatInflatesBeyondTheLimitIsRefused) {
  const std::string file = compressed(std::string(1000000, 'x'));
  EXPECT_TRUE(inflate_gzip(bytes_of(file), 1000000));
  const auto refused = inflate_gzip(bytes_of(file), 999999);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().expected, "at most 999999 bytes when inflated");
}

}  // namespace
}  // namespace gradwire::data
