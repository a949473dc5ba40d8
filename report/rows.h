// Rows of a page: runs of the same method and task that differ in their seed are one row, with a
// mean and a spread. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/page.h"

namespace gradwire::report {

struct Row {
  std::string name;
  std::vector<std::size_t> runs;  // indices; at least one, in the order of the runs
};

// In the order of their first runs.
std::vector<Row> rows_of(std::span<const Run> runs);

// For each run, the index of its row.
std::vector<std::size_t> row_of_runs(std::span<const Row> rows, std::size_t runs);

struct MeanAndSpread {
  double mean = 0;
  std::optional<double> spread =
      {};  // the standard deviation of a single run; of one value unknown
};

// Nothing for no values, or where one of them is missing or not finite.
std::optional<MeanAndSpread> mean_and_spread(std::span<const std::optional<double>> values);

}  // namespace gradwire::report
