#include "data/idx.h"

#include "data/image_test_support.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire::data {
namespace {

std::string refusal(std::string_view file, std::size_t dimensions) {
  const Readable<IdxView> view = parse_idx(bytes_of(file), dimensions);
  return view ? "" : view.error().text();
}

TEST(Idx, HasItsDimensionsAndElements) {
  const std::string file = idx_file({2, 1, 3}, "abcdef");
  const Readable<IdxView> view = parse_idx(bytes_of(file), 3);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->dimensions, (std::vector<std::size_t>{2, 1, 3}));
  EXPECT_TRUE(std::ranges::equal(view->elements, bytes_of("abcdef")));
}

TEST(Idx, AnotherMagicSaysWhatItStandsFor) {
  EXPECT_EQ(refusal(idx_file({2}, "ab"), 3),
            "offset 0: expected the idx magic 0x00000803 (unsigned bytes, 3 dimensions), found "
            "0x00000801 (unsigned bytes, 1 dimension)");
  EXPECT_EQ(refusal(std::string("\0\0\x0d\x01", 4), 1),
            "offset 0: expected the idx magic 0x00000801 (unsigned bytes, 1 dimension), found "
            "0x00000d01 (floats, 1 dimension)");
  EXPECT_EQ(refusal("PK\3\4 and more", 1),
            "offset 0: expected the idx magic 0x00000801 (unsigned bytes, 1 dimension), found "
            "0x504b0304");
  EXPECT_EQ(refusal("", 1),
            "offset 0: expected the idx magic 0x00000801 (unsigned bytes, 1 dimension), found "
            "a file of 0 bytes");
}

TEST(Idx, ATruncatedFileSaysAtWhichOffset) {
  const std::string file = idx_file({2, 2, 3}, "abcdefghijkl");
  EXPECT_EQ(refusal(file.substr(0, 27), 3),
            "offset 27: expected 2 x 2 x 3 bytes behind the header of 16, found the end of the "
            "file");
  EXPECT_EQ(refusal(file.substr(0, 10), 3),
            "offset 10: expected all of dimension 2, found the end of the file");
  for (std::size_t bytes = 0; bytes < file.size(); ++bytes) {
    EXPECT_NE(refusal(file.substr(0, bytes), 3), "");
  }
}

TEST(Idx, BytesBehindTheElementsAreRefused) {
  EXPECT_EQ(refusal(idx_file({3}, "abcd"), 1),
            "offset 11: expected the end of the file, behind 3 bytes, found 1 more byte");
}

TEST(Idx, ADimensionOfZeroIsRefused) {
  EXPECT_EQ(refusal(idx_file({2, 0, 3}, ""), 3),
            "offset 8: expected dimension 2 to be above 0, found 0");
}

TEST(Idx, DimensionsWhoseProductOverflowsAreBeyondTheFile) {
  constexpr std::uint32_t kHuge = 0xffffffff;
  EXPECT_TRUE(refusal(idx_file({kHuge, kHuge, kHuge}, "abcd"), 3)
                  .starts_with("offset 20: expected 4294967295 x 4294967295 x 4294967295 bytes"));
  constexpr std::uint32_t kHalf = 0x80000000;  // 2^31 * 2^31 * 4 is 2^64, which wraps to 0
  EXPECT_NE(refusal(idx_file({kHalf, kHalf, 4}, ""), 3), "");
}

}  // namespace
}  // namespace gradwire::data
