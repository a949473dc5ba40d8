// The table of a page: a column a number, with a value for each run that has one. Pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/page.h"

namespace gradwire::report {

enum class Better { neither, lower, higher };

// How a number looks.
enum class Look { value, share, megabytes, ratio, milliseconds, count };

struct Column {
  std::string group;  // "Predicted, ms per step"
  std::string name;   // "1 Gbit/s"
  std::string hint;   // what it is, in a sentence; may be empty
  Look look = Look::value;
  Better better = Better::neither;
  std::vector<std::optional<double>> values = {};  // finite; one for each run
};

// Columns in which no run has a value are left out.
std::vector<Column> columns_of(std::span<const Run> runs);

// Which runs have the best value: none where no value is better, or where all are the same.
std::vector<std::size_t> best_of(const Column& column);

}  // namespace gradwire::report
