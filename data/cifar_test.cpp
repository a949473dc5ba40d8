#include "data/cifar.h"

#include <algorithm>

#include "data/image_test_support.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire::data {
namespace {

std::string refusal(std::string_view file) {
  const Readable<CifarView> view = parse_cifar(bytes_of(file));
  return view ? "" : view.error().text();
}

TEST(Cifar, HasALabelAndAnImageARecord) {
  const std::string file = cifar_record(3, 100) + cifar_record(9, 200);
  const Readable<CifarView> view = parse_cifar(bytes_of(file));
  ASSERT_TRUE(view);
  ASSERT_EQ(view->records(), 2u);
  EXPECT_EQ(view->label(0), 3);
  EXPECT_EQ(view->label(1), 9);
  EXPECT_TRUE(std::ranges::equal(view->image(1), bytes_of(pixels(3072, 200))));
}

TEST(Cifar, ATruncatedFileSaysAtWhichOffset) {
  const std::string file = cifar_record(3) + cifar_record(9);
  EXPECT_EQ(refusal(file.substr(0, 3073 + 12)),
            "offset 3085: expected all 3073 bytes of record 1, found the end of the file behind "
            "12");
  EXPECT_EQ(refusal(""),
            "offset 0: expected all 3073 bytes of record 0, found the end of the file behind 0");
}

TEST(Cifar, ALabelOutOfRangeNamesItsRecord) {
  EXPECT_EQ(refusal(cifar_record(0) + cifar_record(77)),
            "offset 3073: expected the label of record 1, from 0 to 9, found 77");
}

}  // namespace
}  // namespace gradwire::data
