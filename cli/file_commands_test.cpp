// Tests of encode, decode and inspect.
#include <numeric>

#include "cli/test_program.h"
#include "console/format.h"
#include "gradwire/codec/codec.h"
#include "gradwire/file/tensor_file.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire::cli {
namespace {

using Names = std::vector<std::string>;

Tensor counting(std::uint64_t rows, std::uint64_t columns) {
  Tensor tensor{.values = std::vector<float>(rows * columns), .shape = {{rows, columns}}};
  std::iota(tensor.values.begin(), tensor.values.end(), -1.0F);
  return tensor;
}

// A directory with tensor.npy, and tensor.gw made from it.
class FileCommands : public testing::Test {
 protected:
  FileCommands() {
    write_tensor(npy, tensor);
    const Outcome encoded = gradwire({"encode", "--force", "--codec", "none", npy, gw});
    EXPECT_EQ(encoded.exit_code, kDone) << encoded.err;
  }

  // Refused by decode and by inspect, with the reason, and without a trace.
  void expect_refused(const std::string& bytes, std::string_view reason) {
    write_text(gw, bytes);
    const Names before = directory.names();
    const std::string out = directory / "out.npy";
    for (const Outcome& outcome : {gradwire({"decode", "--force", "--json", gw, out}),
                                   gradwire({"inspect", "--json", gw})}) {
      EXPECT_EQ(outcome.exit_code, kFailed);
      EXPECT_EQ(outcome.out, "");
      EXPECT_TRUE(outcome.err.starts_with("gradwire: " + gw + ": at byte ")) << outcome.err;
      EXPECT_TRUE(contains(outcome.err, reason)) << outcome.err;
      EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    }
    EXPECT_EQ(directory.names(), before);
  }

  const TestDirectory directory;
  const std::string npy = directory / "tensor.npy";
  const std::string gw = directory / "tensor.gw";
  const Tensor tensor = counting(40, 25);
};

TEST_F(FileCommands, RoundTripKeepsValuesAndShape) {
  const std::string back = directory / "back.npy";
  const Outcome outcome = gradwire({"decode", "--force", gw, back});
  EXPECT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(read_tensor(back), tensor);
  EXPECT_EQ(directory.names(), (Names{"back.npy", "tensor.gw", "tensor.npy"}));
}

TEST_F(FileCommands, RawFloatsComeBackAsTheSameBytes) {
  const std::string raw = directory / "raw.f32";
  const std::string raw_gw = directory / "raw.gw";
  const std::string back = directory / "back.f32";
  write_tensor(raw, tensor);
  EXPECT_EQ(gradwire({"encode", "--force", "--codec", "none", raw, raw_gw}).exit_code, kDone);
  EXPECT_EQ(gradwire({"decode", "--force", raw_gw, back}).exit_code, kDone);
  EXPECT_EQ(read_text(back), read_text(raw));
}

TEST_F(FileCommands, SeedDecidesTheBytesAndTheNumberOfThreadsDoesNot) {
  const auto encoded = [&](const char* seed, const char* threads) {
    const std::string out = directory / "seeded.gw";
    const Outcome outcome = gradwire({"encode", "--force", "--codec", "qsgd(bits=2)", "--seed",
                                      seed, "--threads", threads, npy, out});
    EXPECT_EQ(outcome.exit_code, kDone) << outcome.err;
    return read_text(out);
  };
  EXPECT_EQ(encoded("7", "1"), encoded("7", "3"));
  EXPECT_NE(encoded("7", "1"), encoded("8", "1"));
}

TEST_F(FileCommands, OneLineOnStderrSaysWhatWasDone) {
  const Outcome outcome = gradwire({"encode", "--force", "--codec", "fp16", npy, gw});
  const std::size_t bytes = read_text(gw).size();
  EXPECT_EQ(outcome.err, "encoded " + npy + " with fp16: 4,000 bytes in, " +
                             console::thousands(bytes) + " bytes out, ratio " +
                             console::fixed(4000 / static_cast<double>(bytes), 2) + "\n");
}

TEST_F(FileCommands, JsonOfEncodeAndDecodeHasTheBytesAndTheRatio) {
  const Names names = {"input", "output", "spec", "elements", "bytes_in", "bytes_out", "ratio"};
  const std::string back = directory / "back.npy";
  const Json encoded = gradwire({"encode", "--force", "--json", "--codec", "qsgd", npy, gw}).json();
  EXPECT_EQ(fields(encoded), names);
  EXPECT_EQ(encoded["spec"], make_codec("qsgd")->spec());
  EXPECT_EQ(encoded["elements"], 1000);
  EXPECT_EQ(encoded["bytes_in"], 4000);
  EXPECT_EQ(encoded["bytes_out"], read_text(gw).size());
  EXPECT_GT(encoded["ratio"], 1.0);

  const Json decoded = gradwire({"decode", "--force", "--json", gw, back}).json();
  EXPECT_EQ(fields(decoded), names);
  EXPECT_EQ(decoded["bytes_in"], encoded["bytes_out"]);
  EXPECT_EQ(decoded["bytes_out"], encoded["bytes_in"]);
  EXPECT_EQ(decoded["ratio"], encoded["ratio"]);
}

TEST_F(FileCommands, TruncatedFilesAreRefusedAndNoOutputAppears) {
  const std::string whole = read_text(gw);
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{3}, std::size_t{20}, whole.size() / 2, whole.size() - 1}) {
    expect_refused(whole.substr(0, bytes), "");
  }
}

TEST_F(FileCommands, AlteredFilesAreRefusedAndNoOutputAppears) {
  const std::string whole = read_text(gw);
  for (std::size_t at = 0; at < whole.size(); at += 97) {
    std::string altered = whole;
    altered[at] = static_cast<char>(altered[at] ^ 0x10);
    expect_refused(altered, "");
  }
  expect_refused(whole + "x", "");
}

TEST_F(FileCommands, ForeignFilesAreRefusedAndNoOutputAppears) {
  expect_refused(read_text(npy), "at byte 0: ");
  expect_refused("some text that is long enough to hold a header\n", "at byte 0: ");
}

TEST_F(FileCommands, FailedDecodeLeavesTheOldOutputAlone) {
  const std::string out = directory / "out.npy";
  write_text(out, "precious");
  write_text(gw, read_text(gw).substr(0, 100));
  EXPECT_EQ(gradwire({"decode", "--force", gw, out}).exit_code, kFailed);
  EXPECT_EQ(read_text(out), "precious");
}

TEST_F(FileCommands, FailedEncodeLeavesNothing) {
  const Names before = directory.names();
  const std::string out = directory / "out.gw";
  for (const Names& arguments :
       {Names{"--codec", "none", directory / "absent.npy"}, Names{"--codec", "none", gw},
        Names{"--codec", "no_such_codec", npy}}) {
    Names call = {"encode", "--force", "--json", out};
    call.insert(call.begin() + 1, arguments.begin(), arguments.end());
    const Outcome outcome = gradwire(call);
    EXPECT_EQ(outcome.exit_code, arguments[1] == "none" ? kFailed : kWrongUsage);
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(outcome.err.starts_with("gradwire: ")) << outcome.err;
    EXPECT_EQ(directory.names(), before);
  }
}

TEST_F(FileCommands, SameFileInAndOutIsWrongUsage) {
  const std::string before = read_text(npy);
  const std::string other_name = directory / "./tensor.npy";
  for (const std::string& out : {npy, other_name}) {
    const Outcome outcome = gradwire({"encode", "--force", "--codec", "none", npy, out});
    EXPECT_EQ(outcome.exit_code, kWrongUsage);
    EXPECT_TRUE(contains(outcome.err, "is both IN and OUT")) << outcome.err;
  }
  EXPECT_EQ(gradwire({"decode", "--force", gw, gw}).exit_code, kWrongUsage);
  EXPECT_EQ(read_text(npy), before);
}

TEST_F(FileCommands, OutputOfAnUnknownKindIsRefusedBeforeTheInputIsRead) {
  const Outcome outcome =
      gradwire({"decode", "--force", directory / "absent.gw", directory / "out.txt"});
  EXPECT_EQ(outcome.exit_code, kFailed);
  EXPECT_TRUE(contains(outcome.err, "out.txt: unknown kind of file")) << outcome.err;
}

TEST_F(FileCommands, EncodeWritesNothingButGwFiles) {
  const std::string other = directory / "other.f32";
  const Outcome outcome = gradwire({"encode", "--force", "--codec", "none", npy, other});
  EXPECT_EQ(outcome.exit_code, kWrongUsage);
  EXPECT_TRUE(contains(outcome.err, "other.f32: encode writes .gw files")) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(other));
}

TEST_F(FileCommands, FileNamedLikeACommandIsAFile) {
  const Outcome outcome =
      gradwire({"encode", "--force", "--codec", "none", "decode", directory / "out.gw"});
  EXPECT_EQ(outcome.exit_code, kFailed);
  EXPECT_TRUE(outcome.err.starts_with("gradwire: decode: unknown kind of file")) << outcome.err;
}

TEST_F(FileCommands, InspectJsonHasTheHeaderAndEveryFrame) {
  const Outcome outcome = gradwire({"inspect", "--json", gw});
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const Json document = outcome.json();
  EXPECT_EQ(fields(document), (Names{"file", "spec", "shape", "elements", "bytes", "ratio",
                                     "bits_per_element", "seed", "frames"}));
  EXPECT_EQ(document["spec"], "none");
  EXPECT_EQ(document["shape"], (Json{40, 25}));
  EXPECT_EQ(document["elements"], 1000);
  EXPECT_EQ(document["bytes"], read_text(gw).size());
  ASSERT_EQ(document["frames"].size(), 1u);
  const Json& frame = document["frames"][0];
  EXPECT_EQ(fields(frame), (Names{"offset", "first_element", "elements", "payload_bytes", "flags",
                                  "checksum", "checksum_verified"}));
  EXPECT_EQ(frame["elements"], 1000);
  EXPECT_EQ(frame["payload_bytes"], 4000);
  EXPECT_EQ(frame["flags"], Json::array());
  EXPECT_EQ(frame["checksum_verified"], true);
}

TEST_F(FileCommands, InspectShowsThePoisonFlag) {
  Tensor poisoned = tensor;
  poisoned.values[3] = std::numeric_limits<float>::infinity();
  write_tensor(npy, poisoned);
  EXPECT_EQ(gradwire({"encode", "--force", "--codec", "none", npy, gw}).exit_code, kDone);
  EXPECT_EQ(gradwire({"inspect", "--json", gw}).json()["frames"][0]["flags"], Json{"poison"});
  EXPECT_TRUE(contains(gradwire({"inspect", gw}).out, " poison "));
}

TEST_F(FileCommands, InspectOfAnEmptyTensorHasNoBitsPerElement) {
  write_tensor(npy, counting(0, 5));
  EXPECT_EQ(gradwire({"encode", "--force", "--codec", "natural", npy, gw}).exit_code, kDone);
  const Json document = gradwire({"inspect", "--json", gw}).json();
  EXPECT_EQ(document["shape"], (Json{0, 5}));
  EXPECT_EQ(document["frames"], Json::array());
  EXPECT_TRUE(document["bits_per_element"].is_null());
  EXPECT_EQ(gradwire({"inspect", gw}).exit_code, kDone);
}

TEST_F(FileCommands, InspectShortensALongListUnlessAllIsAskedFor) {
  // A bucket of 2^20 elements is a frame.
  const Tensor large{.values = std::vector<float>(std::size_t{16} << 20)};
  const std::string raw = directory / "large.f32";
  write_tensor(raw, large);
  EXPECT_EQ(gradwire({"encode", "--force", "--codec", "topk(0.001%)", raw, gw}).exit_code, kDone);

  const std::string some = gradwire({"inspect", gw}).out;
  EXPECT_TRUE(contains(some, "\n  ..."));
  EXPECT_TRUE(contains(some, "\n    0 "));
  EXPECT_FALSE(contains(some, "\n   10 "));
  EXPECT_TRUE(contains(some, "\n   15 "));
  const std::string all = gradwire({"inspect", "--all", gw}).out;
  EXPECT_FALSE(contains(all, "..."));
  EXPECT_TRUE(contains(all, "\n   10 "));
}

}  // namespace
}  // namespace gradwire::cli
