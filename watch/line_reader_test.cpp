#include "watch/line_reader.h"

#include <filesystem>
#include <vector>

#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"
#include "watch/record_test_support.h"

namespace gradwire::watch {
namespace {

using Lines = std::vector<std::string>;

class LineReaderTest : public testing::Test {
 protected:
  // What one read says; "(restart)" where it begins again.
  Lines read(std::size_t bytes_max = 1 << 20) {
    Lines lines;
    has_more =
        reader.read(bytes_max, {.restart = [&] { lines.push_back("(restart)"); },
                                .line = [&](std::string_view line) { lines.emplace_back(line); }});
    return lines;
  }

  const TestDirectory directory;
  const std::filesystem::path path = directory / "lines";
  LineReader reader{path};
  bool has_more = false;
};

TEST_F(LineReaderTest, NothingIsReadFromAFileThatIsNotThere) {
  EXPECT_EQ(read(), Lines());
  EXPECT_EQ(reader.written_at(), 0);
  EXPECT_FALSE(has_more);
}

TEST_F(LineReaderTest, EveryLineIsReadOnce) {
  write_text(path, "a\nb\n");
  EXPECT_EQ(read(), (Lines{"a", "b"}));
  EXPECT_EQ(read(), Lines());
  append_text(path, "c\n\nd\n");
  EXPECT_EQ(read(), (Lines{"c", "", "d"}));
  EXPECT_GT(reader.written_at(), 1e9);
}

TEST_F(LineReaderTest, AHalfWrittenLineIsNotRead) {
  write_text(path, "a\nhal");
  EXPECT_EQ(read(), (Lines{"a"}));
  EXPECT_EQ(read(), Lines());
  append_text(path, "f\n");
  EXPECT_EQ(read(), (Lines{"half"}));
}

TEST_F(LineReaderTest, ReadsAtMostWhatItMayAndAtLeastALine) {
  write_text(path, "12345678901234567890\nb\nc\n");
  EXPECT_EQ(read(4), (Lines{"12345678901234567890"}));
  EXPECT_TRUE(has_more);
  EXPECT_EQ(read(2), (Lines{"b"}));
  EXPECT_EQ(read(3), (Lines{"c"}));
  EXPECT_FALSE(has_more);
}

TEST_F(LineReaderTest, AFileThatWasCutBackIsReadAgain) {
  write_text(path, "a\nb\nc\n");
  read();
  std::filesystem::resize_file(path, 2);
  EXPECT_EQ(read(), (Lines{"(restart)", "a"}));
}

TEST_F(LineReaderTest, AFileThatWasReplacedIsReadAgain) {
  write_text(path, "a\n");
  read();
  write_text(directory / "new", "b\nc\n");
  std::filesystem::rename(directory / "new", path);
  EXPECT_EQ(read(), (Lines{"(restart)", "b", "c"}));
}

TEST_F(LineReaderTest, AFileThatWasWrittenAnewIsReadAgainThoughItIsLonger) {
  write_text(path, "a\n");
  read();
  write_text(path, "b\nc\n");  // the same inode
  EXPECT_EQ(read(), (Lines{"(restart)", "b", "c"}));
}

TEST_F(LineReaderTest, AFileThatIsGoneIsForgotten) {
  write_text(path, "a\n");
  read();
  std::filesystem::remove(path);
  EXPECT_EQ(read(), (Lines{"(restart)"}));
  EXPECT_EQ(read(), Lines());
  write_text(path, "a\n");
  EXPECT_EQ(read(), (Lines{"a"}));
}

TEST_F(LineReaderTest, WhatIsNoFileIsAnError) {
  std::filesystem::create_directory(path);
  EXPECT_THROW(read(), Error);
}

}  // namespace
}  // namespace gradwire::watch
