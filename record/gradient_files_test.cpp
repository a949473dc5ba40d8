#include "record/gradient_files.h"

#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"
#include "record/json_file.h"

namespace gradwire::record {
namespace {

const std::vector<MethodTensor> kTensors = {{"w", {2, 3}}, {"bias", {2}}};

TEST(GradientFiles, ComeBackAsTheyWereWritten) {
  const TestDirectory directory;
  write_shapes(directory / kShapesFile, kTensors);
  const std::vector<float> w = {1, 2, 3, 4, 5, 6};
  const std::vector<float> bias = {7, 8};
  write_gradients(directory / "g.f32", std::vector<std::span<const float>>{w, bias});
  const auto tensors = read_shapes(directory / kShapesFile);
  ASSERT_EQ(tensors.size(), 2U);
  EXPECT_EQ(tensors[0].name, "w");
  EXPECT_EQ(tensors[0].shape, (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(read_gradients(directory / "g.f32", tensors),
            (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(GradientFiles, WhatDoesNotFitIsNamed) {
  const TestDirectory directory;
  const auto refusal = [&](const Json& shapes) {
    write_json_file(directory / "s.json", shapes);
    return message_of<FileError>([&] { read_shapes(directory / "s.json"); });
  };
  const auto says = [](const std::string& message, const char* part) {
    return message.find(part) != std::string::npos;
  };
  EXPECT_TRUE(says(refusal(Json::object()), "is not a list of tensors"));
  EXPECT_TRUE(says(refusal({{{"name", "a"}, {"shape", {2}}}}), "tensor 1: the field 'offset'"));
  EXPECT_TRUE(
      says(refusal({{{"name", "a"}, {"shape", {-2}}, {"offset", 0}}}), "not a list of whole"));
  EXPECT_TRUE(
      says(refusal({{{"name", "a"}, {"shape", {1099511627776, 1099511627776}}, {"offset", 0}}}),
           "makes no sense"));
  EXPECT_TRUE(says(refusal({{{"name", "a"}, {"shape", {2}}, {"offset", 1}}}),
                   "begins at element 1, where the one before it ends at 0"));
  EXPECT_TRUE(says(refusal({{{"name", "a"}, {"shape", {2}}, {"offset", 0}},
                            {{"name", "a"}, {"shape", {2}}, {"offset", 2}}}),
                   "two tensors are called 'a'"));
  const std::vector<float> few = {1, 2};
  write_gradients(directory / "few.f32", std::vector<std::span<const float>>{few});
  EXPECT_TRUE(says(message_of<FileError>([&] { read_gradients(directory / "few.f32", kTensors); }),
                   "holds 2 values, but the shapes are of 8"));
}

}  // namespace
}  // namespace gradwire::record
