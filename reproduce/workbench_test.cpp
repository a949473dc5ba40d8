#include "reproduce/workbench.h"

#include <signal.h>

#include <sstream>

#include "gradwire/file/test_directory.h"
#include "gradwire/file/test_text.h"
#include "gtest/gtest.h"
#include "launch/stop_request.h"
#include "reproduce/run_curves.h"

namespace gradwire::reproduce {
namespace {

using record::Json;

class WorkbenchTest : public testing::Test {
 protected:
  Workbench bench() {
    return Workbench({.claim = "example", .directory = directory_ / "out", .is_quick = true},
                     console_);
  }

  static session::TrainOptions convex(std::uint64_t steps) {
    session::TrainOptions options;
    options.model = "logistic";
    options.data = "generated";
    options.steps = steps;
    options.workers.workers = 2;
    return options;
  }

  const TestDirectory directory_;
  std::ostringstream out_;
  std::ostringstream err_;
  const console::Console console_{.out = out_, .err = err_};
};

TEST_F(WorkbenchTest, FinishedTrialIsNotDoneAgain) {
  int times = 0;
  const auto work = [&] { return Json{{"times", ++times}}; };
  Workbench first = bench();
  first.expect(2, 0);
  EXPECT_EQ(first.trial("a", work), (Json{{"times", 1}}));
  EXPECT_EQ(first.pieces_done(), 1u);
  Workbench second = bench();
  EXPECT_TRUE(second.keeps_trial("a"));
  EXPECT_FALSE(second.keeps_trial("b"));
  EXPECT_EQ(second.trial("a", work), (Json{{"times", 1}}));
  EXPECT_EQ(second.trial("b", work), (Json{{"times", 2}}));
  EXPECT_EQ(second.pieces_done(), 1u);
  EXPECT_TRUE(contains(err_.str(), "example: 1 of 2: a\n"));
}

TEST_F(WorkbenchTest, TrialThatFailedIsDoneAgain) {
  Workbench first = bench();
  EXPECT_THROW(first.trial("a", []() -> Json { throw Error("no luck"); }), Error);
  EXPECT_EQ(first.trial("a", [] { return Json(1); }), Json(1));
}

TEST_F(WorkbenchTest, DamagedTrialIsRefused) {
  Workbench here = bench();
  write_text(directory_ / "out/quick-trials/a.json", "[]");
  const auto error = message_of<FileError>([&] { here.trial("a", [] { return Json(1); }); });
  EXPECT_TRUE(contains(error, "a.json: is not a trial")) << error;
}

TEST_F(WorkbenchTest, FinishedRunIsReadAndTheSame) {
  Workbench first = bench();
  const session::FinishedRun run = first.train("r", convex(20), "natural");
  EXPECT_EQ(first.pieces_done(), 1u);
  Workbench second = bench();
  const session::FinishedRun again = second.train("r", convex(20), "natural");
  EXPECT_EQ(second.pieces_done(), 0u);
  EXPECT_EQ(again.record, run.record);
  EXPECT_EQ(again.steps.size(), run.steps.size());
  EXPECT_GT(second.seconds(), 0);
}

TEST_F(WorkbenchTest, RunOfAnotherKindIsRefused) {
  bench().train("r", convex(20), "natural");
  EXPECT_THROW(bench().train("r", convex(20), "none"), FileError);
}

TEST_F(WorkbenchTest, StopsBetweenPiecesAndWithinRunsAndGoesOn) {
  Workbench first = bench();
  {
    const launch::StopRequest request;
    first.trial("a", [] {
      raise(SIGTERM);
      return Json(1);
    });
    EXPECT_THROW(first.trial("b", [] { return Json(2); }), launch::Stopped);
    EXPECT_THROW(first.train("r", convex(20), "natural"), launch::Stopped);
  }
  Workbench second = bench();
  EXPECT_EQ(second.trial("a", [] { return Json(0); }), Json(1));
  EXPECT_EQ(second.trial("b", [] { return Json(2); }), Json(2));
  EXPECT_EQ(second.train("r", convex(20), "natural").steps.size(), 20u);
}

TEST_F(WorkbenchTest, RunsAndSeedsCanBeMissing) {
  bench().train("a", convex(20), "natural");
  Workbench kept(
      {.claim = "example", .directory = directory_ / "out", .is_quick = true, .is_kept_only = true},
      console_);
  kept.expect(0, 2);
  EXPECT_THROW(kept.trial("x", [] { return Json(1); }), launch::Stopped);
  EXPECT_TRUE(kept.train_if_possible("a", convex(20), "natural"));
  EXPECT_EQ(kept.missing(), "");
  EXPECT_FALSE(kept.train_if_possible("b", convex(20), "none"));
  EXPECT_EQ(kept.missing(), "1 of 2 runs");
  EXPECT_FALSE(kept.lacks_seeds());

  std::vector<std::uint64_t> done;
  const auto second_stops = [&](std::uint64_t seed) {
    if (seed == 2) throw launch::Stopped("");
    done.push_back(seed);
  };
  kept.for_each_seed(3, second_stops);
  EXPECT_EQ(done, (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(kept.missing(), "2 of 3 seeds");
  EXPECT_TRUE(kept.lacks_seeds());
  EXPECT_THROW(kept.for_each_seed(3, [](std::uint64_t) { throw launch::Stopped(""); }),
               launch::Stopped);
}

TEST_F(WorkbenchTest, CurvesOfARunBeginAtItsStartAndEndAtItsEnd) {
  const session::FinishedRun run = bench().train("r", convex(40), "none");
  const Curve curve = curve_of(run, "gap", &record::Metrics::gap, Along::steps);
  EXPECT_EQ(curve.x.front(), 0);
  EXPECT_EQ(curve.x.back(), 40);
  EXPECT_EQ(curve.y.back(), run.record.final.gap);
  EXPECT_EQ(first_reaching(curve, curve.y[0], true), 0);
  EXPECT_EQ(first_reaching(curve, curve.y.back(), true), 40);
  EXPECT_EQ(first_reaching(curve, -1, true), std::nullopt);
  const Curve sent = curve_of(run, "sent", &record::Metrics::gap, Along::megabytes);
  EXPECT_NEAR(sent.x.back(), 1e-6 * static_cast<double>(run.record.traffic.bytes_sent), 1e-9);
}

}  // namespace
}  // namespace gradwire::reproduce
