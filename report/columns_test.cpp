#include "report/columns.h"

#include <cmath>

#include "gradwire/core/error.h"
#include "gtest/gtest.h"
#include "record/prediction.h"

namespace gradwire::report {
namespace {

// In a test's body Run is GoogleTest's.
using Runs = std::vector<Run>;

Run run_of(double accuracy, std::uint64_t bytes_up) {
  Run run;
  run.record.configuration = {{"model", "cnn"}};
  run.record.workers = 4;
  run.record.steps = 100;
  run.record.parameters = 1000;
  run.record.final = {.loss = 0.5, .accuracy = accuracy};
  run.record.traffic.bytes_sent = bytes_up;
  run.record.traffic.bytes_received = bytes_up / 2;
  run.record.uploads = 400;
  run.record.phases = {
      .compute_seconds = 2, .encode_seconds = 1, .exchange_seconds = 5, .decode_seconds = 0.5};
  run.record.seconds = 9;
  return run;
}

std::vector<Column> columns_of(const Runs& runs) { return columns_of(runs, rows_of(runs)); }

std::vector<std::string> names_of(const std::vector<Column>& columns) {
  std::vector<std::string> names;
  for (const Column& column : columns) names.push_back(column.name);
  return names;
}

const Column& named(const std::vector<Column>& columns, const std::string& name) {
  for (const Column& column : columns) {
    if (column.name == name) return column;
  }
  throw Error("there is no column " + name);
}

TEST(Columns, ThoseWithoutAnyValueAreLeftOut) {
  const Runs runs = {run_of(0.9, 600'000)};
  EXPECT_EQ(names_of(columns_of(runs)),
            (std::vector<std::string>{"Accuracy", "Ratio", "Loss", "MB sent", "MB received",
                                      "Compute", "Encode", "Exchange", "Decode", "100 Mbit/s",
                                      "1 Gbit/s", "10 Gbit/s"}));
}

TEST(Columns, TimesArePerStepAndPredictionsAreTheRecords) {
  const Runs runs = {run_of(0.9, 600'000)};
  const std::vector<Column> columns = columns_of(runs);
  EXPECT_DOUBLE_EQ(*named(columns, "Compute").values[0], 20);
  EXPECT_DOUBLE_EQ(*named(columns, "Exchange").values[0], 50);
  EXPECT_DOUBLE_EQ(
      *named(columns, "100 Mbit/s").values[0],
      1e3 / 100 *
          record::predicted_seconds(runs[0].record.phases,
                                    {.bytes_sent = 600'000, .bytes_received = 300'000}, 1e8));
  EXPECT_DOUBLE_EQ(*named(columns, "Ratio").values[0], record::compression_ratio(runs[0].record));
}

TEST(Columns, RunWithoutStepsHasNoTimes) {
  const Runs runs(1);
  EXPECT_EQ(names_of(columns_of(runs)), (std::vector<std::string>{"MB sent", "MB received"}));
}

TEST(Columns, SkippedUploadsAreAShareOfAllThatCouldHaveBeen) {
  Runs runs = {run_of(0.9, 1), run_of(0.8, 1)};
  runs[1].record.uploads = 300;
  runs[1].record.uploads_skipped = 100;
  const std::vector<Column> columns = columns_of(runs);
  EXPECT_EQ(*named(columns, "Skipped").values[0], 0);
  EXPECT_EQ(*named(columns, "Skipped").values[1], 0.25);
}

TEST(Columns, LateMessagesAreAShareOfAll) {
  Runs runs = {run_of(0.9, 1), run_of(0.8, 1)};
  runs[1].record.workers = 4;
  runs[1].record.steps = 100;
  runs[1].record.late = {0, 20, 0, 80};
  const std::vector<Column> columns = columns_of(runs);
  EXPECT_EQ(named(columns, "Late").values[0], std::nullopt);
  EXPECT_EQ(*named(columns, "Late").values[1], 0.25);
}

TEST(Columns, ValueThatIsNoNumberIsNone) {
  Runs runs = {run_of(std::nan(""), 1), run_of(0.8, 1)};
  runs[0].record.final.loss = INFINITY;
  const std::vector<Column> columns = columns_of(runs);
  EXPECT_EQ(named(columns, "Accuracy").values[0], std::nullopt);
  EXPECT_EQ(named(columns, "Loss").values[0], std::nullopt);
  EXPECT_EQ(best_of(named(columns, "Accuracy")), std::vector<std::size_t>{});
}

TEST(Columns, BestIsMarkedWhereTheDifferenceIsKnown) {
  const Runs runs = {run_of(0.9, 100), run_of(0.95, 100), run_of(0.8, 200)};
  const std::vector<Column> columns = columns_of(runs);
  EXPECT_EQ(best_of(named(columns, "Accuracy")), std::vector<std::size_t>{})
      << "another seed may turn the order";
  EXPECT_EQ(best_of(named(columns, "MB sent")), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(best_of(named(columns, "Loss")), std::vector<std::size_t>{});  // all the same
}

TEST(Columns, BestIsBeyondTheSpreadOfSeeds) {
  const auto with_seed = [](double accuracy, std::uint64_t bytes, const char* method, int seed) {
    report::Run run = run_of(accuracy, bytes);
    run.record.method = method;
    run.record.configuration["seed"] = seed;
    return run;
  };
  const Runs runs = {with_seed(0.900, 100, "none", 1), with_seed(0.904, 100, "none", 2),
                     with_seed(0.901, 100, "near", 1), with_seed(0.905, 100, "near", 2),
                     with_seed(0.800, 100, "far", 1),  with_seed(0.805, 100, "far", 2)};
  const std::vector<Column> columns = columns_of(runs);
  const Column& accuracy = named(columns, "Accuracy");
  EXPECT_DOUBLE_EQ(*accuracy.values[0], 0.902);
  EXPECT_NEAR(*accuracy.spreads[0], 0.00283, 1e-5);
  EXPECT_EQ(best_of(accuracy), (std::vector<std::size_t>{0, 1}));
  const Column& difference = named(columns, "Difference");  // seed by seed
  EXPECT_NEAR(*difference.values[1], 0.1, 1e-9);
  EXPECT_NEAR(*difference.spreads[1], 0, 1e-9);
}

TEST(Columns, SpeedupsAreAgainstTheFirstRowWithOneComputeTime) {
  Runs runs = {run_of(0.9, 100'000'000), run_of(0.9, 1'000'000)};
  runs[1].record.method = "natural";
  runs[1].record.phases.compute_seconds = 2.5;  // by chance
  const std::vector<Column> columns = columns_of(runs);
  const Column& speedup = named(columns, "100 Mbit/s");
  EXPECT_EQ(speedup.group, "Speed-up, predicted");
  EXPECT_DOUBLE_EQ(*speedup.values[0], 1);
  EXPECT_DOUBLE_EQ(*speedup.values[1], (2 + 1.5 + 8) / (2 + 1.5 + 0.08));
}

TEST(Columns, OtherTasksAreNotCompared) {
  Runs runs = {run_of(0.9, 100), run_of(0.8, 100)};
  runs[1].record.configuration["model"] = "mlp";
  for (const std::string& name : names_of(columns_of(runs))) EXPECT_NE(name, "Difference");
}

}  // namespace
}  // namespace gradwire::report
