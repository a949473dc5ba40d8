#include "report/rows.h"

#include <algorithm>
#include <cmath>

#include "report/json_values.h"

namespace gradwire::report {
namespace {

using record::RunRecord;

bool differ_in_seed_only(const RunRecord& a, const RunRecord& b) {
  constexpr const char* kTask[] = {"model", "data",     "batch",       "optimiser", "split",
                                   "l2",    "schedule", "regulariser", "topology",  "transport"};
  const auto is_same = [&](const char* field) {
    return member(a.configuration, field) == member(b.configuration, field);
  };
  if (!a.is_finished || !b.is_finished) return false;  // their steps are not the same for long
  return a.method == b.method && a.workers == b.workers && a.steps == b.steps &&
         a.parameters == b.parameters && std::ranges::all_of(kTask, is_same) && !is_same("seed");
}

}  // namespace

std::vector<Row> rows_of(std::span<const Run> runs) {
  std::vector<Row> rows;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const auto belongs = [&](const Row& row) {
      return std::ranges::all_of(row.runs, [&](std::size_t other) {
        return differ_in_seed_only(runs[other].record, runs[run].record);
      });
    };
    const auto found = std::ranges::find_if(rows, belongs);
    if (found == rows.end()) {
      rows.push_back({.name = runs[run].name, .runs = {run}});
    } else {
      found->runs.push_back(run);
    }
  }
  // Names of runs tell the seeds apart. A row has the method's name if no other row has it.
  for (Row& row : rows) {
    const std::string& method = runs[row.runs.front()].record.method;
    const auto is_of_method = [&](const Row& other) {
      return runs[other.runs.front()].record.method == method;
    };
    if (row.runs.size() > 1 && std::ranges::count_if(rows, is_of_method) == 1) row.name = method;
  }
  return rows;
}

std::vector<std::size_t> row_of_runs(std::span<const Row> rows, std::size_t runs) {
  std::vector<std::size_t> row_of(runs, 0);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (const std::size_t run : rows[row].runs) row_of[run] = row;
  }
  return row_of;
}

std::optional<MeanAndSpread> mean_and_spread(std::span<const std::optional<double>> values) {
  double sum = 0;
  for (const auto& value : values) {
    if (!value || !std::isfinite(*value)) return std::nullopt;
    sum += *value;
  }
  if (values.empty()) return std::nullopt;
  MeanAndSpread result{.mean = sum / static_cast<double>(values.size())};
  if (values.size() == 1) return result;
  double squares = 0;
  for (const auto& value : values) squares += (*value - result.mean) * (*value - result.mean);
  result.spread = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return result;
}

}  // namespace gradwire::report
