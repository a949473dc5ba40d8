#include "reproduce/run_means.h"

#include <cmath>

#include "gtest/gtest.h"

namespace gradwire::reproduce {
namespace {

session::FinishedRun run_with_accuracy(double accuracy) {
  session::FinishedRun run;
  run.record.workers = 2;
  run.record.steps = 4;
  run.record.parameters = 1'000;
  run.record.traffic.bytes_sent = 1'000;
  run.record.final.accuracy = accuracy;
  return run;
}

TEST(RunMeans, SpreadIsMeanAndStandardError) {
  const Spread spread = spread_of(std::vector<double>{1, 2, 3});
  EXPECT_DOUBLE_EQ(spread.mean, 2);
  EXPECT_DOUBLE_EQ(spread.error, std::sqrt(1.0 / 3));
  EXPECT_EQ(spread_of(std::vector<double>{5}).error, 0);
}

TEST(RunMeans, AccuraciesAreComparedSeedBySeed) {
  const std::vector runs = {run_with_accuracy(0.81), run_with_accuracy(0.92)};
  const std::vector partners = {run_with_accuracy(0.80), run_with_accuracy(0.90)};
  const Spread points = accuracy_points(runs, partners);
  EXPECT_NEAR(points.mean, 1.5, 1e-9);
  EXPECT_NEAR(points.error, 0.5, 1e-9);
  EXPECT_EQ(points_text(points), "+1.50 +- 0.50 points");
  EXPECT_EQ(points_text({.mean = -0.25, .error = 0}), "-0.25 points");
}

TEST(RunMeans, ADifferenceHoldsWithOneStandardErrorLess) {
  EXPECT_TRUE(is_no_lower({.mean = -0.1, .error = 0.05}, 0.2));
  EXPECT_TRUE(is_no_lower({.mean = -0.2, .error = 0}, 0.2));
  EXPECT_FALSE(is_no_lower({.mean = -0.2, .error = 0.1}, 0.2));
  EXPECT_FALSE(is_no_lower({.mean = 0.5, .error = 1}, 0.2));
  EXPECT_FALSE(is_no_lower({.mean = -0.3, .error = 9}, 0.2));
  EXPECT_FALSE(is_no_lower({.mean = std::nan(""), .error = 0}, 0.2));  // it diverged
}

TEST(RunMeans, FiguresAreMeansOverRuns) {
  const std::vector runs = {run_with_accuracy(0.7), run_with_accuracy(0.8)};
  EXPECT_DOUBLE_EQ(mean_accuracy(runs), 0.75);
  EXPECT_DOUBLE_EQ(mean_step_bytes(runs), 250);
  EXPECT_DOUBLE_EQ(mean_megabytes(runs), 0.001);
  EXPECT_DOUBLE_EQ(mean_ratio(runs), 16);  // 4,000 bytes a step in a ring of two
  EXPECT_EQ(percent(0.8845), "88.45%");
  EXPECT_EQ(seeds_text(runs), "2 seeds");
}

}  // namespace
}  // namespace gradwire::reproduce
