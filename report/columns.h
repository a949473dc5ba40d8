// The table of a page: a column for each figure, a row for each method. Pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/page.h"
#include "report/rows.h"

namespace gradwire::report {

enum class Better { neither, lower, higher };

// How a number looks.
enum class Look { value, share, points, megabytes, ratio, milliseconds, count };

// A difference between two values that have no spread.
enum class Trust {
  exact,     // counted: any difference is one
  measured,  // by a clock: a small one may be chance
  unknown,   // of training with another seed, nobody knows
};

struct Column {
  std::string group;  // "Predicted, ms per step"
  std::string name;   // "1 Gbit/s"
  std::string hint;   // one sentence; may be empty
  Look look = Look::value;
  Better better = Better::neither;
  Trust trust = Trust::exact;
  bool is_key = false;                             // shown on narrow screens, too
  std::vector<std::optional<double>> values = {};  // finite; one for each row, the mean of its runs
  std::vector<std::optional<double>> spreads = {};  // of rows with several runs
};

// Columns in which no row has a value are left out. Those that compare with the first row are there
// if all runs have the same task.
std::vector<Column> columns_of(std::span<const Run> runs, std::span<const Row> rows);

// The rows with the best value: those that differ from it by no more than the spread, if others
// differ by more. Empty where no value is better.
std::vector<std::size_t> best_of(const Column& column);

}  // namespace gradwire::report
