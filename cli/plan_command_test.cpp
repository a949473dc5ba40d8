#include "bench/gradients.h"
#include "cli/test_program.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"
#include "record/gradient_files.h"

namespace gradwire::cli {
namespace {

const std::filesystem::path kRecorded = "../shared/data/gradients/";

class PlanCommand : public testing::Test {
 protected:
  PlanCommand() {
    const std::vector<MethodTensor> tensors = {
        {"conv", {32, 27}}, {"bias", {32}}, {"wide", {64, 128}}, {"last", {10, 64}}};
    record::write_shapes(shapes, tensors);
    std::vector<float> values(32 * 27 + 32 + 64 * 128 + 640);
    bench::fill_gradients({.seed = 1, .purpose = Purpose::data}, values);
    record::write_gradients(gradients, std::vector<std::span<const float>>{values});
  }

  Outcome plan(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"plan", "--gradients", gradients, "--shapes", shapes};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return gradwire(arguments);
  }

  const TestDirectory directory;
  const std::string gradients = directory / "g.f32";
  const std::string shapes = directory / "shapes.json";
};

TEST_F(PlanCommand, IsNoWorseThanUniform) {
  for (const char* family : {"qsgd", "topk", "powersgd", "any"}) {
    const Outcome outcome = plan({"--family", family, "--json"});
    ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
    const Json json = outcome.json();
    EXPECT_LE(json["bytes"], json["uniform_bytes"]);
    EXPECT_LE(json["error"], json["uniform_error"]);
    ASSERT_EQ(json["layers"].size(), 3U);  // the bias is left out
    EXPECT_EQ(json["elements_left_out"], 32);
    EXPECT_EQ(fields(json["layers"][0]),
              (std::vector<std::string>{"name", "elements", "choice", "bytes", "error", "norm"}));
    EXPECT_GE(json["plan_ms"], 0);
  }
}

TEST_F(PlanCommand, PrintsARowForEachLayer) {
  const Outcome outcome = plan({"--family", "topk", "--uniform", "topk(5%)"});
  EXPECT_EQ(outcome.exit_code, kDone) << outcome.err;
  for (const char* part : {"conv", "wide", "last", "topk(5%)", "times smaller", "32 elements"}) {
    EXPECT_TRUE(contains(outcome.out, part)) << part;
  }
}

TEST_F(PlanCommand, WrongInputsAreNamed) {
  EXPECT_EQ(plan({"--family", "natural"}).exit_code, kWrongUsage);
  EXPECT_EQ(plan({"--uniform", "topk(1%)"}).exit_code, kWrongUsage);  // of qsgd
  EXPECT_EQ(plan({"--uniform", "nothing"}).exit_code, kWrongUsage);
  EXPECT_EQ(plan({"--alpha", "0"}).exit_code, kWrongUsage);
  for (const char* range : {"", "1", "0..1", "2..1", "1..2x", "..", "1..1e9"}) {
    EXPECT_EQ(plan({"--range", range}).exit_code, kWrongUsage) << range;
  }
  EXPECT_EQ(gradwire({"plan", "--shapes", shapes}).exit_code, kWrongUsage);
  const Outcome absent =
      gradwire({"plan", "--gradients", directory / "no.f32", "--shapes", shapes});
  EXPECT_EQ(absent.exit_code, kFailed);
  EXPECT_TRUE(contains(absent.err, "no.f32"));
}

// What is asked for on real gradients: how much smaller a plan is at the same error.
TEST(PlanCommandOnRealGradients, PlansAreSmaller) {
  const std::string shapes = kRecorded / "resnet20_cifar10.shapes.json";
  const std::string gradients = kRecorded / "resnet20_cifar10_step0300_worker0.f32";
  if (!std::filesystem::exists(shapes)) GTEST_SKIP() << shapes << " is not there";
  struct Case {
    const char* family;
    const char* range;
    double times;
  };
  for (const auto& [family, range, times] :
       {Case{"topk", "0.01..30", 6}, Case{"topk", "0.1..10", 4}, Case{"qsgd", "0.1..10", 1.15},
        Case{"powersgd", "0.1..10", 1.25}}) {
    const Json json = gradwire({"plan", "--gradients", gradients, "--shapes", shapes, "--family",
                                family, "--range", range, "--json"})
                          .json();
    EXPECT_GE(json["times_smaller"], times) << family;
    const Json any = gradwire({"plan", "--gradients", gradients, "--shapes", shapes, "--family",
                               "any", "--range", range, "--uniform", json["uniform"], "--json"})
                         .json();
    EXPECT_LE(any["bytes"], json["bytes"]) << family;
  }
}

}  // namespace
}  // namespace gradwire::cli
