#include "record/prediction.h"

#include "gtest/gtest.h"

namespace gradwire::record {
namespace {

RunRecord run_of(const char* model, double compute_seconds) {
  RunRecord run;
  run.steps = 10;
  run.phases = {.compute_seconds = 10 * compute_seconds, .encode_seconds = 1, .decode_seconds = 2};
  run.traffic = {.bytes_sent = 10'000'000, .bytes_received = 5'000'000};
  run.configuration = {{"model", model}};
  return run;
}

std::vector<double> shared(const std::vector<RunRecord>& runs) {
  std::vector<const RunRecord*> pointers;
  for (const RunRecord& run : runs) pointers.push_back(&run);
  return compute_seconds_per_step(pointers);
}

TEST(Prediction, RunsOfOneTaskComputeEquallyLong) {
  EXPECT_EQ(shared({run_of("cnn", 1.0), run_of("cnn", 1.2), run_of("cnn", 0.9)}),
            (std::vector<double>{1, 1, 1}));
}

TEST(Prediction, AnotherTaskAndASecondGradientHaveTheirOwnTime) {
  EXPECT_EQ(shared({run_of("cnn", 1.0), run_of("cnn", 1.9), run_of("mlp", 0.1)}),
            (std::vector<double>{1, 1.9, 0.1}));
}

TEST(Prediction, StepIsWorkAndTheBusierDirection) {
  const RunRecord run = run_of("cnn", 1);
  EXPECT_DOUBLE_EQ(predicted_step_seconds(run, 8e6), 1 + 0.1 + 0.2 + 1);
  EXPECT_DOUBLE_EQ(predicted_step_seconds(run, 8e6, 0.5), 0.5 + 0.1 + 0.2 + 1);
}

TEST(Prediction, RunWithoutStepsComputesNothing) {
  EXPECT_EQ(shared({RunRecord()}), std::vector<double>{0});
  EXPECT_TRUE(shared({}).empty());
}

}  // namespace
}  // namespace gradwire::record
