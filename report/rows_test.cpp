#include "report/rows.h"

#include <cmath>

#include "gtest/gtest.h"

namespace gradwire::report {
namespace {

using Runs = std::vector<Run>;
using Indices = std::vector<std::size_t>;

Run run_of(const char* method, int seed, const char* model = "cnn") {
  Run run{.name = std::string(method) + " (" + std::to_string(seed) + ")"};
  run.record.method = method;
  run.record.configuration = {{"model", model}, {"seed", seed}};
  return run;
}

TEST(Rows, SeedsOfAMethodAreOneRowWithTheMethodsName) {
  const Runs runs = {run_of("none", 1), run_of("sign", 1), run_of("none", 2), run_of("sign", 2)};
  const std::vector<Row> rows = rows_of(runs);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "none");
  EXPECT_EQ(rows[0].runs, (Indices{0, 2}));
  EXPECT_EQ(rows[1].runs, (Indices{1, 3}));
  EXPECT_EQ(row_of_runs(rows, 4), (Indices{0, 1, 0, 1}));
}

TEST(Rows, SameSeedAndOtherTasksAreRowsOfTheirOwn) {
  const Runs runs = {run_of("none", 1), run_of("none", 1), run_of("none", 2, "mlp")};
  const std::vector<Row> rows = rows_of(runs);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].name, "none (1)");
}

TEST(Rows, RunsThatGoOnAreRowsOfTheirOwn) {
  Runs runs = {run_of("none", 1), run_of("none", 2), run_of("none", 3)};
  runs[1].record.is_finished = false;
  const std::vector<Row> rows = rows_of(runs);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].runs, (Indices{0, 2}));
  EXPECT_EQ(rows[1].name, "none (2)");
}

TEST(Rows, MeanAndStandardDeviation) {
  const std::vector<std::optional<double>> values = {1.0, 3.0};
  const auto both = mean_and_spread(values);
  EXPECT_DOUBLE_EQ(both->mean, 2);
  EXPECT_DOUBLE_EQ(*both->spread, std::sqrt(2.0));
  const auto one = mean_and_spread(std::span(values).first(1));
  EXPECT_FALSE(one->spread.has_value());
  EXPECT_FALSE(mean_and_spread({}).has_value());
  const std::vector<std::optional<double>> missing = {1.0, std::nullopt};
  EXPECT_FALSE(mean_and_spread(missing).has_value());
}

}  // namespace
}  // namespace gradwire::report
