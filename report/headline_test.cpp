#include "report/headline.h"

#include "gtest/gtest.h"

namespace gradwire::report {
namespace {

using Runs = std::vector<Run>;

std::string headline(const Runs& runs) { return headline_of(runs, rows_of(runs)); }

// 100 steps, each with 10 ms of computing.
Run run_of(const char* name, double megabytes, double accuracy) {
  Run run{.name = name};
  run.record.method = name;
  run.record.workers = 4;
  run.record.parameters = 125'000;
  run.record.steps = 100;
  run.record.traffic.bytes_sent = static_cast<std::uint64_t>(1e6 * megabytes);
  run.record.traffic.bytes_received = run.record.traffic.bytes_sent;
  run.record.phases.compute_seconds = 1;
  run.record.final.accuracy = accuracy;
  return run;
}

TEST(Headline, NamesTheFastestRunThatIsAboutAsGood) {
  const Runs runs = {run_of("none", 100, 0.90), run_of("natural", 25, 0.904),
                     run_of("sign", 3, 0.60)};
  EXPECT_EQ(headline(runs),
            "natural: 4.00 times fewer bytes than none, +0.40 points of accuracy, 3.00 times as "
            "fast at 100 Mbit/s (predicted).");
}

TEST(Headline, NamesTheFastestWhereNoneIsAsGood) {
  const Runs runs = {run_of("none", 100, 0.90), run_of("sign", 4, 0.60)};
  EXPECT_TRUE(headline(runs).starts_with("sign: 25.0 times fewer bytes than none, -30.00 points"))
      << headline(runs);
}

TEST(Headline, SeveralSeedsHaveASpread) {
  Runs runs = {run_of("none", 100, 0.90), run_of("natural", 25, 0.91), run_of("none", 100, 0.92),
               run_of("natural", 25, 0.95)};
  for (int i = 0; i < 4; ++i)
    runs[static_cast<std::size_t>(i)].record.configuration["seed"] = i / 2;
  EXPECT_EQ(
      headline(runs),
      "natural: 4.00 times fewer bytes than none, +2.00 \xc2\xb1 1.41 points of accuracy, 3.00 "
      "times as fast at 100 Mbit/s (predicted).");
}

TEST(Headline, IsEmptyWithoutAComparison) {
  EXPECT_EQ(headline({}), "");
  const Runs alone = {run_of("none", 1, 0.9)};
  EXPECT_EQ(headline(alone), "");
  const Runs silent = {run_of("none", 0, 0.9), run_of("natural", 0, 0.9)};
  EXPECT_EQ(headline(silent), "") << "a single worker sends nothing";
}

}  // namespace
}  // namespace gradwire::report
