// A caller's mistakes are errors that say what was wrong; they do not end the program.
#include <gtest/gtest.h>

#include "gradwire/core/error_test_support.h"
#include "gradwire/file/gw_format.h"
#include "gradwire/file/npy.h"
#include "gradwire/file/tensor_file.h"
#include "gradwire/file/test_directory.h"

namespace gradwire {
namespace {

using Shape = std::vector<std::uint64_t>;

TEST(FileMistakes, OfShapes) {
  EXPECT_EQ(error_of([] { npy_header(Shape(100, 1)); }).find(".npy: a tensor of 100 dimensions"),
            0U);
  GwHeader header;
  header.spec = "none";
  header.shape = Shape{2, 3};
  header.element_count = 5;
  EXPECT_EQ(error_of([&] { gw_header_bytes(header); }),
            ".gw: a header cannot be written: the shape is of another number of elements");
  const TestDirectory directory;
  const std::string refusal = error_of([&] {
    write_tensor(directory / "a.npy", {.values = {1, 2, 3, 4}, .shape = Shape{2, 3}});
  });
  EXPECT_NE(refusal.find("the tensor has 4 values, and its shape is of another number"),
            std::string::npos)
      << refusal;
}

}  // namespace
}  // namespace gradwire
