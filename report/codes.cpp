#include "report/codes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "record/code_record.h"
#include "report/json_values.h"

namespace gradwire::report {
namespace {

using Steps = std::vector<const record::StepRecord*>;
using Column = std::span<const record::StepRecord* const>;
// Whether two neighbours may be in one column.
using FitTogether = std::function<bool(const CodeNote&, const CodeNote&)>;

Steps with_notes(const Run& run) {
  Steps steps;
  for (const record::StepRecord& step : run.steps) {
    if (step.code) steps.push_back(&step);
  }
  return steps;
}

// At most `width` steps each.
std::vector<Column> cut(Column steps, std::size_t width, const FitTogether& fit) {
  std::vector<Column> columns;
  std::size_t first = 0;
  for (std::size_t i = 1; i <= steps.size(); ++i) {
    const bool goes_on =
        i < steps.size() && i - first < width && fit(*steps[i - 1]->code, *steps[i]->code);
    if (goes_on) continue;
    columns.push_back(steps.subspan(first, i - first));
    first = i;
  }
  return columns;
}

// Cut where phases change, which may take half of the columns; or at least between full steps,
// which send so much more than all others, and the rest.
std::vector<Column> columns_of(Column steps) {
  const auto same_phase = [](const CodeNote& a, const CodeNote& b) { return a.phase == b.phase; };
  const auto both_full = [](const CodeNote& a, const CodeNote& b) {
    return (a.phase == "full") == (b.phase == "full");
  };
  const auto any = [](const CodeNote&, const CodeNote&) { return true; };
  constexpr std::size_t kEven = kCodeColumnsMax / 2;
  const std::size_t width = (steps.size() + kEven - 1) / kEven;
  std::vector<Column> columns;
  for (const FitTogether& fit :
       {FitTogether(same_phase), FitTogether(both_full), FitTogether(any)}) {
    columns = cut(steps, width, fit);
    if (columns.size() <= kCodeColumnsMax) break;
  }
  return columns;
}

struct Phase {
  std::string name;
  std::size_t steps = 0;
  double bytes = 0;
};

// In the order in which they first come.
std::vector<Phase> phases_of(Column steps) {
  std::vector<Phase> phases;
  for (const record::StepRecord* step : steps) {
    auto found = std::ranges::find(phases, step->code->phase, &Phase::name);
    if (found == phases.end()) found = phases.insert(found, {.name = step->code->phase});
    ++found->steps;
    found->bytes += static_cast<double>(step->traffic.bytes_sent);
  }
  return phases;
}

Json to_json(std::span<const Phase> phases) {
  Json json = Json::array();
  for (const Phase& phase : phases) {
    json.push_back({{"name", phase.name},
                    {"steps", phase.steps},
                    {"bytes_per_step", rounded(phase.bytes / static_cast<double>(phase.steps))}});
  }
  return json;
}

// The index of the phase that most steps of a column have.
std::size_t main_phase(Column column, std::span<const Phase> phases) {
  const std::vector<Phase> own = phases_of(column);
  const std::string& most = std::ranges::max_element(own, {}, &Phase::steps)->name;
  const auto found = std::ranges::find(phases, most, &Phase::name);
  return static_cast<std::size_t>(found - phases.begin());
}

Json mean_error(Column column) {
  double sum = 0;
  std::size_t count = 0;
  for (const record::StepRecord* step : column) {
    if (!step->code->error || !std::isfinite(*step->code->error)) continue;
    sum += *step->code->error;
    ++count;
  }
  return count == 0 ? Json() : rounded(sum / static_cast<double>(count));
}

double mean_bytes(Column column, const std::string& part) {
  double sum = 0;
  for (const record::StepRecord* step : column) {
    const auto found = std::ranges::find(step->code->parts, part, &CodeNote::Part::name);
    if (found != step->code->parts.end()) sum += static_cast<double>(found->bytes);
  }
  return sum / static_cast<double>(column.size());
}

// All that there are, and in `height` what they come to in each column.
Json parts_of(std::span<const Column> columns, std::vector<double>& height) {
  height.assign(columns.size(), 0);
  Json parts = Json::array();
  for (const CodeNote::Part& part : columns.front().front()->code->parts) {
    Json bytes = Json::array();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const double mean = mean_bytes(columns[i], part.name);
      height[i] += mean;
      bytes.push_back(rounded(mean));
    }
    parts.push_back({{"name", part.name}, {"bytes", std::move(bytes)}});
  }
  return parts;
}

}  // namespace

Json code_of(const Run& run) {
  const Steps steps = with_notes(run);
  if (steps.empty()) return nullptr;
  const std::vector<Column> columns = columns_of(steps);
  const std::vector<Phase> phases = phases_of(steps);
  record::CodeTotals totals;
  for (const record::StepRecord* step : steps) totals.add(*step->code, step->traffic.bytes_sent);
  const Json sums = totals.to_json();

  Json edges = {steps.front()->step - 1};
  Json phase = Json::array();
  Json error = Json::array();
  for (const Column& column : columns) {
    edges.push_back(column.back()->step);
    phase.push_back(main_phase(column, phases));
    error.push_back(mean_error(column));
  }
  std::vector<double> height;
  Json parts = parts_of(columns, height);
  Json bytes = Json::array();
  for (const double sum : height) bytes.push_back(rounded(sum));
  return {{"edges", std::move(edges)},
          {"phase", std::move(phase)},
          {"error", std::move(error)},
          {"bytes", std::move(bytes)},
          {"parts", std::move(parts)},
          {"phases", to_json(phases)},
          {"mean_error", rounded(number_member(sums, "mean_error"))},
          {"learn_ms", rounded(number_member(sums, "learn_ms"))}};
}

}  // namespace gradwire::report
