#include "gradwire/file/npy.h"

#include <random>
#include <string>
#include <string_view>

#include "gradwire/file/tensor.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

using Shape = std::vector<std::uint64_t>;

// A file with the header's text as it is given, as NumPy's other versions and other writers have
// it.
std::string npy_file(int major, std::string_view header, std::size_t data_bytes) {
  std::string file = std::string("\x93NUMPY") + static_cast<char>(major) + '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) {
    file += static_cast<char>(header.size() >> (8 * i));
  }
  return file + std::string(header) + std::string(data_bytes, '\x01');
}

void expect_npy_refused(std::string_view file, std::size_t byte_offset, std::string_view what) {
  const Decoded<NpyView> npy = parse_npy(bytes_of(file));
  ASSERT_FALSE(npy) << what;
  EXPECT_NE(std::string_view(npy.error().what).find(what), std::string_view::npos)
      << npy.error().what;
  EXPECT_EQ(npy.error().byte_offset, byte_offset) << npy.error().what;
}

// The same, for a header of version 1.0, which starts at byte 10.
void expect_header_refused(std::string_view header, std::size_t offset, std::string_view what) {
  expect_npy_refused(npy_file(1, header, 0), 10 + offset, what);
}

TEST(Npy, HeadersThatAreWrittenAreRead) {
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{7}, Shape{3, 4}, Shape{2, 0, 5},
                             Shape{1, 1, 1, 1, 6}, Shape(kTensorDimensionsMax, 1)}) {
    std::vector<std::byte> file = npy_header(shape);
    EXPECT_EQ(file.size() % 64, 0u);
    EXPECT_EQ(file.back(), std::byte{'\n'});
    file.resize(file.size() + *shape_elements(shape) * sizeof(float));
    const Decoded<NpyView> npy = parse_npy(file);
    ASSERT_TRUE(npy) << npy.error().what;
    EXPECT_EQ(npy->shape, shape);
    EXPECT_EQ(npy->data.size(), *shape_elements(shape) * sizeof(float));
  }
}

TEST(Npy, HeaderIsTheOneThatNumPyWrites) {
  // numpy.save of float32 arrays of these shapes, NumPy 1.24.
  const auto text = [](const Shape& shape) {
    const std::vector<std::byte> header = npy_header(shape);
    return std::string(reinterpret_cast<const char*>(header.data()), header.size());
  };
  const std::string before = std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
                             "{'descr': '<f4', 'fortran_order': False, 'shape': ";
  const auto padded = [](std::string start) {
    start.resize(127, ' ');
    return start + '\n';
  };
  EXPECT_EQ(text({}), padded(before + "(), }"));
  EXPECT_EQ(text({5}), padded(before + "(5,), }"));
  EXPECT_EQ(text({3, 4}), padded(before + "(3, 4), }"));
}

TEST(Npy, AllVersionsAreRead) {
  for (const int major : {1, 2, 3}) {
    const std::string file =
        npy_file(major, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n", 12);
    const Decoded<NpyView> npy = parse_npy(bytes_of(file));
    ASSERT_TRUE(npy) << npy.error().what;
    EXPECT_EQ(npy->shape, Shape{3});
    EXPECT_EQ(npy->data.size(), 12u);
  }
}

TEST(Npy, HeadersOfOtherWritersAreRead) {
  for (const char* header :
       {R"({"shape":(1,3),"fortran_order":False,"descr":"<f4"})",
        " { 'shape' : ( 1 , 3 , ) , 'descr' : '<f4' , 'fortran_order' : False }   \n",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
        // In one dimension the two orders are the same.
        "{'descr': '<f4', 'fortran_order': True, 'shape': (3,), }"}) {
    EXPECT_TRUE(parse_npy(bytes_of(npy_file(1, header, 12)))) << header;
  }
}

TEST(Npy, OtherElementTypesAndOrdersAreRefusedWithWhatToDo) {
  for (const char* type : {"'<f8'", "'>f4'", "'<i4'", "'|O'", "[('x', '<f4')]"}) {
    expect_header_refused("{'descr': " + std::string(type) + ", 'fortran_order': False}", 10,
                          "convert them with astype('<f4')");
  }
  expect_header_refused("{'descr': '<f4', 'fortran_order': True, 'shape': (0, 4), }", 0,
                        "convert them with numpy.ascontiguousarray");
}

TEST(Npy, BadHeadersAreRefusedWhereTheyAreBad) {
  expect_header_refused("", 0, "expected '{'");
  expect_header_refused("{", 1, "expected a key in quotes");
  expect_header_refused("{'descr': '<f4'", 15, "expected ',' or '}'");
  expect_header_refused("{'descr' '<f4'}", 9, "expected ':'");
  expect_header_refused("{'descr: '<f4'}", 10, "expected ':'");
  expect_header_refused("{'kind': 'x'}", 1, "unknown or repeated key");
  expect_header_refused("{'descr': '<f4', 'descr': '<f4'}", 17, "unknown or repeated key");
  expect_header_refused("{'descr': '<f4'}", 16, "lacks");
  expect_header_refused("{} {}", 3, "more in the header than one dictionary");
  expect_header_refused("{'fortran_order': 0}", 18, "must be True or False");
}

TEST(Npy, BadShapesAreRefusedWhereTheyAreBad) {
  expect_header_refused("{'shape': 3}", 10, "must be a tuple");
  expect_header_refused("{'shape': (3)}", 13, "must be a tuple");
  expect_header_refused("{'shape': (3 4)}", 13, "expected ',' or ')'");
  expect_header_refused("{'shape': (-3,)}", 11, "whole numbers");
  expect_header_refused("{'shape': (,)}", 11, "whole numbers");
  expect_header_refused("{'shape': (18446744073709551616,)}", 11, "whole numbers");
  std::string many = "{'shape': (";
  for (std::size_t i = 0; i <= kTensorDimensionsMax; ++i) many += "1,";
  expect_header_refused(many, 11 + 2 * kTensorDimensionsMax, "too many dimensions");
}

TEST(Npy, ShapesOfMoreElementsThanFitAreRefused) {
  const std::string_view overflow =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }";
  expect_header_refused(overflow, 0, "more elements than fit");
  // The elements fit 64 bits, their bytes do not.
  const std::string bytes_overflow =
      npy_file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387905,), }", 4);
  expect_npy_refused(bytes_overflow, bytes_overflow.size(), "the file ends before");
}

TEST(Npy, EveryTruncationIsRefusedWhereTheFileEnds) {
  for (const int major : {1, 2, 3}) {
    const std::string file =
        npy_file(major, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n", 12);
    for (std::size_t kept = 0; kept < file.size(); ++kept) {
      expect_npy_refused(std::string_view(file).substr(0, kept), kept, "the file ends");
    }
  }
}

TEST(Npy, ExtraBytesAreRefusedWhereTheyStart) {
  const std::string file =
      npy_file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n", 13);
  expect_npy_refused(file, file.size() - 1, "more bytes than the shape has elements");
}

TEST(Npy, ForeignFilesAndVersionsAreRefused) {
  expect_npy_refused("PK\x03\x04", 0, "no .npy file");
  expect_npy_refused(npy_file(4, "{}", 0), 6, "not version");
  std::string minor = npy_file(1, "{}", 0);
  minor[7] = 1;
  expect_npy_refused(minor, 6, "not version");
}

TEST(Npy, AlteredBytesGiveAViewOfTheSameSizeOrAReason) {
  const std::string sound =
      npy_file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n", 12);
  std::mt19937 random(1);
  for (int round = 0; round < 50'000; ++round) {
    std::string file = sound;
    for (std::size_t i = random() % 4; i > 0; --i) {
      file[random() % file.size()] = static_cast<char>(random());
    }
    const Decoded<NpyView> npy = parse_npy(bytes_of(file));
    if (npy) {
      ASSERT_EQ(npy->data.size(), *shape_elements(npy->shape) * sizeof(float));
    } else {
      ASSERT_LE(npy.error().byte_offset, file.size());
    }
  }
}

}  // namespace
}  // namespace gradwire
