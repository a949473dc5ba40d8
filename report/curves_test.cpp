#include "report/curves.h"

#include <cmath>

#include "gtest/gtest.h"

namespace gradwire::report {
namespace {

Run run_of(std::uint64_t steps) {
  Run run;
  run.record.start.loss = 100;
  for (std::uint64_t step = 1; step <= steps; ++step) {
    run.steps.push_back(
        {.step = step,
         .metrics = {.loss = static_cast<double>(step)},
         .traffic = {.bytes_sent = 1'000'000, .bytes_received = 3'000'000},
         .phases = {.compute_seconds = 0.5, .encode_seconds = 0.25, .decode_seconds = 0.25},
         .seconds = 2});
  }
  return run;
}

std::vector<CurvePoint> loss_of(const Run& run) {
  return curve_of(run, &record::Metrics::loss, 0.4);
}

TEST(Curves, BeginWithTheStartAndCumulateWhatWasSpent) {
  const std::vector<CurvePoint> curve = loss_of(run_of(3));
  ASSERT_EQ(curve.size(), 4u);
  EXPECT_EQ(curve[0].value, 100);
  EXPECT_EQ(curve[0].spent.traffic.bytes_sent, 0u);
  EXPECT_EQ(curve[3].value, 3);
  EXPECT_EQ(curve[3].spent.steps, 3u);
  EXPECT_EQ(curve[3].spent.traffic.bytes_sent, 3'000'000u);
  EXPECT_EQ(curve[3].spent.traffic.bytes_received, 9'000'000u);
  EXPECT_EQ(curve[3].spent.seconds, 6);
}

TEST(Curves, HaveNoPointWhereNobodyLookedButCountWhatWasSpentThere) {
  auto run = run_of(3);
  run.record.start = {};
  run.steps[0].metrics = {};
  run.steps[1].metrics = {};
  const std::vector<CurvePoint> curve = loss_of(run);
  ASSERT_EQ(curve.size(), 1u);
  EXPECT_EQ(curve[0].spent.traffic.bytes_sent, 3'000'000u);
  EXPECT_TRUE(curve_of(run, &record::Metrics::accuracy, 0.4).empty());
}

TEST(Curves, AxesAreStepsMegabytesMeasuredAndPredictedSeconds) {
  const Spent spent = loss_of(run_of(3)).back().spent;
  std::vector<double> positions;
  for (const Axis& axis : axes()) positions.push_back(axis.position(spent));
  // Predicted: 1.2 s of computing, 1.5 s of coding, and 9 MB, of the busier direction, at the
  // link's rate.
  const std::vector<double> expected = {3, 3, 6, 2.7 + 0.72, 2.7 + 0.072, 2.7 + 0.0072};
  ASSERT_EQ(positions.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(positions[i], expected[i], 1e-12);
}

TEST(Thinning, LeavesShortCurvesAlone) {
  const std::vector<CurvePoint> curve = loss_of(run_of(10));
  const std::vector<CurvePoint> same = thinned(curve, 11);
  ASSERT_EQ(same.size(), 11u);
  for (std::size_t i = 0; i < 11; ++i) EXPECT_EQ(same[i].value, curve[i].value);
  EXPECT_TRUE(thinned({}, 2).empty());
}

TEST(Thinning, AveragesNeighboursAndStandsAtTheLastOfThem) {
  const std::vector<CurvePoint> thin = thinned(loss_of(run_of(10)), 4);
  ASSERT_EQ(thin.size(), 4u);
  EXPECT_EQ(thin[0].value, 100);  // the start
  EXPECT_EQ(thin[1].value, (1 + 2 + 3 + 4) / 4.0);
  EXPECT_EQ(thin[1].spent.steps, 4u);
  EXPECT_EQ(thin[1].spent.traffic.bytes_sent, 4'000'000u);
  EXPECT_EQ(thin[3].value, (9 + 10) / 2.0);
  EXPECT_EQ(thin[3].spent.steps, 10u);
}

TEST(Thinning, NeverExceedsTheBoundAndAlwaysEndsAtTheEnd) {
  for (const std::uint64_t steps : {599, 600, 601, 1199, 1200, 1201, 20'000}) {
    const std::vector<CurvePoint> thin = thinned(loss_of(run_of(steps)), kCurvePointsMax);
    EXPECT_LE(thin.size(), kCurvePointsMax) << steps;
    EXPECT_GT(thin.size(), kCurvePointsMax / 2 - 1) << steps;
    EXPECT_EQ(thin.back().spent.steps, steps);
  }
}

TEST(Thinning, ValueThatIsNoNumberStaysAGap) {
  auto run = run_of(10);
  run.steps[1].metrics.loss = std::nan("");
  const std::vector<CurvePoint> thin = thinned(loss_of(run), 4);
  EXPECT_TRUE(std::isnan(thin[1].value));
  EXPECT_FALSE(std::isnan(thin[2].value));
}

}  // namespace
}  // namespace gradwire::report
