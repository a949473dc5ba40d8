// Tests of bench codec. What the clock says is never asserted beyond being a speed.
#include "cli/test_program.h"
#include "gradwire/codec/codec.h"
#include "gradwire/file/tensor_file.h"
#include "gradwire/file/test_directory.h"
#include "gradwire/kernel/target.h"
#include "gtest/gtest.h"

namespace gradwire::cli {
namespace {

using Names = std::vector<std::string>;

// bench codec on a small tensor.
Outcome bench(const Names& more) {
  Names arguments = {"bench", "codec", "--rounds", "2"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return gradwire(arguments);
}

void expect_is_speed(const Json& number) {
  EXPECT_TRUE(number.is_number_float());
  EXPECT_GT(number, 0.0);
}

TEST(BenchCodec, JsonHasTheYardsticksAndEveryCodecAskedFor) {
  const Outcome outcome = bench({"--json", "--elements", "5000", "--codec", "natural", "--codec",
                                 "topk(1%) | natural | entropy"});
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  const Json document = outcome.json();
  EXPECT_EQ(fields(document), (Names{"target", "memcpy_gbps", "read_gbps", "threads", "elements",
                                     "input", "rounds", "codecs"}));
  expect_is_speed(document["memcpy_gbps"]);
  expect_is_speed(document["read_gbps"]);
  EXPECT_EQ(document["threads"], 1);
  EXPECT_EQ(document["elements"], 5000);
  EXPECT_EQ(document["input"], "gaussian");
  EXPECT_EQ(document["rounds"], 2);
  ASSERT_EQ(document["codecs"].size(), 2u);
  EXPECT_EQ(document["codecs"][0]["spec"], "natural");
  EXPECT_EQ(document["codecs"][1]["spec"], "topk(1%) | natural | entropy");
  for (const Json& codec : document["codecs"]) {
    EXPECT_EQ(fields(codec),
              (Names{"spec", "encode_gbps", "decode_gbps", "decode_add_gbps", "encode_ratio",
                     "decode_ratio", "decode_add_ratio", "bits_per_element", "relative_error"}));
    for (const char* speed : {"encode_gbps", "decode_gbps", "decode_add_gbps", "encode_ratio",
                              "decode_ratio", "decode_add_ratio"}) {
      expect_is_speed(codec[speed]);
    }
  }
}

TEST(BenchCodec, EveryCodecRunsOnOddLengthsAndThreads) {
  Names arguments = {"--json", "--elements", "10007"};
  for (const std::string& spec : example_codec_specs()) {
    arguments.insert(arguments.end(), {"--codec", spec});
  }
  for (const char* threads : {"1", "3"}) {
    Names call = arguments;
    call.insert(call.end(), {"--threads", threads});
    const Outcome outcome = bench(call);
    ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
    EXPECT_EQ(outcome.json()["codecs"].size(), example_codec_specs().size());
  }
}

TEST(BenchCodec, SizeAndErrorAreThoseOfTheCodec) {
  const auto codec = [](const char* spec) {
    return bench({"--json", "--elements", "8192", "--codec", spec}).json()["codecs"][0];
  };
  EXPECT_EQ(codec("none")["bits_per_element"], 32.0);
  EXPECT_EQ(codec("none")["relative_error"], 0.0);
  EXPECT_EQ(codec("natural")["bits_per_element"], 9.0);
  EXPECT_LT(codec("natural")["relative_error"], 0.5);  // at most 1/2 of each element
  EXPECT_GT(codec("natural")["relative_error"], 0.1);
}

TEST(BenchCodec, TargetIsHeldAndDoesNotChangeTheError) {
  const auto result = [](const std::string& target) {
    Names call = {"--json", "--elements", "5000", "--codec", "qsgd(bits=4)"};
    if (!target.empty()) call.insert(call.end(), {"--target", target});
    return bench(call).json();
  };
  const Json best = result("");
  const std::string list = kernel::target_list();
  const std::string last = list.substr(list.rfind(' ') + 1);
  const Json held = result(last);
  EXPECT_EQ(held["target"], last);
  EXPECT_EQ(held["codecs"][0]["relative_error"], best["codecs"][0]["relative_error"]);
  EXPECT_EQ(result("")["target"], best["target"]);
}

TEST(BenchCodec, UnknownTargetIsRefusedWithTheList) {
  const Outcome outcome = bench({"--elements", "100", "--target", "avx9"});
  EXPECT_NE(outcome.exit_code, kDone);
  EXPECT_NE(outcome.err.find(kernel::target_list()), std::string::npos) << outcome.err;
}

TEST(BenchCodec, ThreadsDoNotChangeTheError) {
  const auto error = [](const char* threads) {
    return bench(
               {"--json", "--elements", "100000", "--codec", "qsgd(bits=4)", "--threads", threads})
        .json()["codecs"][0]["relative_error"];
  };
  EXPECT_EQ(error("1"), error("2"));
}

TEST(BenchCodec, TensorCanComeFromAFile) {
  const TestDirectory directory;
  const std::string path = directory / "gradient.f32";
  write_tensor(path, {.values = {1, 2, 3, 4, 5}});
  const Outcome outcome = bench({"--json", "--input", path, "--codec", "none"});
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_EQ(outcome.json()["elements"], 5);
  EXPECT_EQ(outcome.json()["input"], path);
}

TEST(BenchCodec, EmptyFileIsRefused) {
  const TestDirectory directory;
  const std::string path = directory / "empty.f32";
  write_tensor(path, {});
  const Outcome outcome = bench({"--input", path});
  EXPECT_EQ(outcome.exit_code, kFailed);
  EXPECT_EQ(outcome.err, "gradwire: " + path + ": has no elements to measure with\n");
}

TEST(BenchCodec, InputExcludesElementsAndGenerate) {
  EXPECT_EQ(bench({"--input", "a.f32", "--elements", "10"}).exit_code, kWrongUsage);
  EXPECT_EQ(bench({"--input", "a.f32", "--generate", "gradients"}).exit_code, kWrongUsage);
  EXPECT_EQ(bench({"--generate", "noise"}).exit_code, kWrongUsage);
}

TEST(BenchCodec, TableShowsTheSpecsAsTheyWereGivenAndTheYardstick) {
  const Outcome outcome =
      bench({"--generate", "gradients", "--elements", "5000", "--codec", "qsgd(bits=4)"});
  EXPECT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "\nqsgd(bits=4)  ")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "5,000 elements (gradients), target "));
  EXPECT_TRUE(contains(outcome.out, ", 1 thread, median of 2 rounds"));
  EXPECT_TRUE(contains(outcome.out, "memcpy, which runs at "));
  EXPECT_EQ(outcome.err, "");
}

}  // namespace
}  // namespace gradwire::cli
