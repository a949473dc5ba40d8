#include "report/lanes.h"

#include "gtest/gtest.h"
#include "record/attendance.h"

namespace gradwire::report {
namespace {

using record::Json;
using record::ViewRecord;

Run run_of(std::uint64_t first, std::uint64_t last, const std::vector<ViewRecord>& views) {
  Run run;
  for (std::uint64_t step = first; step <= last; ++step) run.steps.push_back({.step = step});
  for (const ViewRecord& view : views) run.record.views.push_back(to_json(view));
  return run;
}

TEST(Lanes, AMemberHasALaneFromItsFirstStepToItsLast) {
  const report::Run run =
      run_of(1, 100,
             {{.view = 2, .step = 0, .members = {{"founder-id", "a:1"}, {"second-id", "b:1"}}},
              {.view = 3,
               .step = 40,
               .members = {{"founder-id", "a:1"}, {"third-id", "c:1"}},
               .joined = {"third-id"},
               .departed = {{"second-id", "closed", true}},
               .change_seconds = 0.25}});
  const Json lanes = lanes_of({&run, 1})[0];
  ASSERT_EQ(lanes["lanes"].size(), 3u);
  EXPECT_EQ(lanes["lanes"][0]["name"], "founder-");
  EXPECT_EQ(lanes["lanes"][0]["to"], 101);
  EXPECT_EQ(lanes["lanes"][1]["from"], 1);
  EXPECT_EQ(lanes["lanes"][1]["to"], 41);
  EXPECT_EQ(lanes["lanes"][1]["end"], "closed");
  EXPECT_EQ(lanes["lanes"][2]["from"], 41);
  EXPECT_EQ(lanes["lanes"][2]["end"], "");
  EXPECT_EQ(lanes["changes"][1]["ms"], 250);
  EXPECT_EQ(lanes["changes"][1]["departed"][0]["lost_memory"], true);
}

TEST(Lanes, ANewcomersRecordBeginsWithItsFirstStep) {
  const report::Run run =
      run_of(50, 60, {{.view = 7, .step = 48, .members = {{"a", ""}, {"b", ""}}}});
  const Json lanes = lanes_of({&run, 1})[0];
  EXPECT_EQ(lanes["first"], 50);
  EXPECT_EQ(lanes["lanes"][1]["from"], 50);
}

TEST(Lanes, OtherRunsHaveNone) {
  const report::Run run = run_of(1, 10, {});
  EXPECT_TRUE(lanes_of({&run, 1})[0].is_null());
}

}  // namespace
}  // namespace gradwire::report
