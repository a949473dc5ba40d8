#include "gradwire/file/tensor_file.h"

#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

using Names = std::vector<std::string>;

const Tensor kTensor = {.values = {1, -2.5F, 0, 3e38F, 1e-40F, -0.0F},
                        .shape = std::vector<std::uint64_t>{2, 3}};

std::string read_error(const std::filesystem::path& path) {
  return message_of<FileError>([&] { read_tensor(path); });
}

TEST(TensorFile, NpyKeepsValuesAndShape) {
  const TestDirectory directory;
  write_tensor(directory / "t.npy", kTensor);
  EXPECT_EQ(read_tensor(directory / "t.npy"), kTensor);
}

TEST(TensorFile, NpyOfATensorWithoutShapeHasOneDimension) {
  const TestDirectory directory;
  write_tensor(directory / "t.npy", {.values = {1, 2, 3}});
  EXPECT_EQ(read_tensor(directory / "t.npy").shape, std::vector<std::uint64_t>{3});
}

TEST(TensorFile, NpyKeepsSingleValuesAndEmptyTensors) {
  const TestDirectory directory;
  for (const Tensor& tensor : {Tensor{.values = {7}, .shape = std::vector<std::uint64_t>{}},
                               Tensor{.values = {}, .shape = std::vector<std::uint64_t>{0}},
                               Tensor{.values = {}, .shape = std::vector<std::uint64_t>{3, 0}}}) {
    write_tensor(directory / "t.npy", tensor);
    EXPECT_EQ(read_tensor(directory / "t.npy"), tensor);
  }
}

TEST(TensorFile, RawFilesKeepTheValuesAlone) {
  const TestDirectory directory;
  write_tensor(directory / "t.f32", kTensor);
  EXPECT_EQ(std::filesystem::file_size(directory / "t.f32"), 24u);
  EXPECT_EQ(read_tensor(directory / "t.f32"), (Tensor{.values = kTensor.values}));
  write_tensor(directory / "empty.f32", {});
  EXPECT_EQ(read_tensor(directory / "empty.f32"), Tensor{});
}

TEST(TensorFile, RawFilesAreLittleEndian) {
  const TestDirectory directory;
  write_text(directory / "t.f32", std::string_view("\x00\x00\x80\x3f", 4));
  EXPECT_EQ(read_tensor(directory / "t.f32").values, std::vector<float>{1});
}

TEST(TensorFile, RawFilesEndWithAWholeFloat) {
  const TestDirectory directory;
  write_text(directory / "t.f32", "1234567");
  EXPECT_EQ(
      read_error(directory / "t.f32"),
      (directory / "t.f32").string() + ": at byte 4: the file ends within a float of 4 bytes");
}

TEST(TensorFile, BadNpyFilesAreRefusedWithPathOffsetAndReason) {
  const TestDirectory directory;
  write_text(directory / "t.npy", "foreign");
  EXPECT_EQ(
      read_error(directory / "t.npy"),
      (directory / "t.npy").string() + ": at byte 0: no .npy file: its magic number is missing");
}

TEST(TensorFile, UnknownExtensionsAreRefusedWithTheKnownOnes) {
  const TestDirectory directory;
  for (const char* name : {"t.bin", "t", "t.NPY", ".npy"}) {
    const std::string message = read_error(directory / name);
    EXPECT_NE(message.find(".f32"), std::string::npos) << name << ": " << message;
    EXPECT_NE(message.find(".npy"), std::string::npos) << name << ": " << message;
    EXPECT_THROW(write_tensor(directory / name, kTensor), FileError);
    EXPECT_THROW(check_tensor_path(directory / name), FileError);
  }
  EXPECT_EQ(directory.names(), Names{});
}

TEST(TensorFile, MissingFilesAndDirectoriesAreRefusedWithTheReason) {
  const TestDirectory directory;
  EXPECT_EQ(read_error(directory / "t.npy"),
            (directory / "t.npy").string() + ": cannot be opened: No such file or directory");
  std::filesystem::create_directory(directory / "d.npy");
  EXPECT_EQ(read_error(directory / "d.npy"),
            (directory / "d.npy").string() + ": cannot be read: Is a directory");
}

}  // namespace
}  // namespace gradwire
