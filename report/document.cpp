#include "report/document.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "record/prediction.h"
#include "report/columns.h"
#include "report/curves.h"
#include "report/facts.h"
#include "report/headline.h"
#include "report/json_values.h"
#include "report/lanes.h"
#include "report/notes.h"

namespace gradwire::report {
namespace {

constexpr double kMsPerSecond = 1e3;

const char* name(Look look) {
  switch (look) {
    case Look::value:
      return "value";
    case Look::share:
      return "share";
    case Look::points:
      return "points";
    case Look::megabytes:
      return "megabytes";
    case Look::ratio:
      return "ratio";
    case Look::milliseconds:
      return "milliseconds";
    case Look::count:
      return "count";
  }
  return "value";
}

const char* name(Better better) {
  switch (better) {
    case Better::lower:
      return "lower";
    case Better::higher:
      return "higher";
    case Better::neither:
      break;
  }
  return "neither";
}

// The best values are marked where all runs have finished: before that, the least bytes are those
// of the run that has come the least far.
Json to_json(const Column& column, bool marks_best) {
  Json values = Json::array();
  for (const auto& value : column.values) values.push_back(rounded(value));
  Json spreads = Json::array();
  for (const auto& spread : column.spreads) spreads.push_back(rounded(spread));
  return {{"group", column.group},
          {"name", column.name},
          {"hint", column.hint},
          {"look", name(column.look)},
          {"key", column.is_key},
          {"values", values},
          {"better", name(column.better)},
          {"spreads", spreads},
          {"best", marks_best ? best_of(column) : std::vector<std::size_t>()}};
}

struct ChartKind {
  const char* title;
  Metric metric;
  Look look;
  bool log;          // how it is drawn first
  bool is_averaged;  // a value for every step: neighbours may be averaged, and the curve smoothed
};

// Only the training loss is there for every step. The others are evaluations: few, and all shown.
constexpr std::array<ChartKind, 4> kCharts = {
    {{"Test accuracy", &record::Metrics::accuracy, Look::share, false, false},
     {"Test loss", &record::Metrics::test_loss, Look::value, false, false},
     {"Gap to the least possible loss", &record::Metrics::gap, Look::value, true, false},
     {"Training loss", &record::Metrics::loss, Look::value, false, true}}};

// Axes on which some run moves: nothing is sent where a worker is alone.
std::vector<Axis> useful_axes(std::span<const Run> runs) {
  std::vector<Axis> useful = axes();
  std::vector<Spent> ends(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const record::StepRecord& step : runs[i].steps) {
      ends[i].add(step, step.phases.compute_seconds);
    }
  }
  std::erase_if(useful, [&](const Axis& axis) {
    return std::ranges::none_of(ends, [&](const Spent& end) { return axis.position(end) > 0; });
  });
  return useful;
}

// {"x": a list for each axis, "y"}
Json to_json(std::span<const CurvePoint> curve, std::span<const Axis> axes) {
  Json x = Json::array();
  for (const Axis& axis : axes) {
    Json positions = Json::array();
    for (const CurvePoint& point : curve) positions.push_back(rounded(axis.position(point.spent)));
    x.push_back(std::move(positions));
  }
  Json y = Json::array();
  for (const CurvePoint& point : curve) y.push_back(rounded(point.value));
  return {{"x", std::move(x)}, {"y", std::move(y)}};
}

// Null where no run has a curve: the start alone is none.
Json chart_of(const ChartKind& kind, std::span<const Run> runs, std::span<const Axis> axes,
              std::span<const double> compute_seconds) {
  Json curves = Json::array();
  bool is_thinned = false;
  bool has_curve = false;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::vector<CurvePoint> curve = curve_of(runs[i], kind.metric, compute_seconds[i]);
    has_curve = has_curve || curve.size() > 1;
    if (kind.is_averaged && curve.size() > kCurvePointsMax) {
      curve = thinned(curve, kCurvePointsMax);
      is_thinned = true;
    }
    curves.push_back(to_json(curve, axes));
  }
  if (!has_curve) return nullptr;
  return {{"title", kind.title},    {"look", name(kind.look)},    {"log", kind.log},
          {"averaged", is_thinned}, {"smooth", kind.is_averaged}, {"curves", std::move(curves)}};
}

Json charts_of(std::span<const Run> runs, std::span<const Axis> axes) {
  std::vector<const record::RunRecord*> records;
  for (const Run& run : runs) records.push_back(&run.record);
  const std::vector<double> seconds = record::compute_seconds_per_step(records);
  Json charts = Json::array();
  for (const ChartKind& kind : kCharts) {
    if (Json chart = chart_of(kind, runs, axes, seconds); !chart.is_null()) charts.push_back(chart);
  }
  return charts;
}

std::array<double, 4> parts_of(const Phases& phases) {
  return {phases.compute_seconds, phases.encode_seconds, phases.exchange_seconds,
          phases.decode_seconds};
}

// Milliseconds of a step by part, the mean over the runs of a row. Empty if one has no steps.
std::vector<double> ms_of_parts(std::span<const Run> runs, const Row& row) {
  std::vector<double> ms(parts_of({}).size(), 0);
  for (const std::size_t run : row.runs) {
    const record::RunRecord& record = runs[run].record;
    if (record.steps == 0) return {};
    const std::array<double, 4> parts = parts_of(record.phases);
    const double factor = kMsPerSecond / static_cast<double>(record.steps * row.runs.size());
    for (std::size_t part = 0; part < parts.size(); ++part) ms[part] += factor * parts[part];
  }
  return ms;
}

double wall_ms(std::span<const Run> runs, const Row& row) {
  double ms = 0;
  for (const std::size_t run : row.runs) {
    const record::RunRecord& record = runs[run].record;
    ms += kMsPerSecond * record.seconds / static_cast<double>(record.steps * row.runs.size());
  }
  return ms;
}

// For each row {"ms": [each part], "percent": of the longest bar, "total_ms"}, or null without
// steps.
Json bars_of(std::span<const Run> runs, std::span<const Row> rows) {
  std::vector<std::vector<double>> parts;
  double longest = 0;
  for (const Row& row : rows) {
    parts.push_back(ms_of_parts(runs, row));
    longest = std::max(longest, std::accumulate(parts.back().begin(), parts.back().end(), 0.0));
  }
  Json bars = Json::array();
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (parts[row].empty() || !(longest > 0)) {
      bars.push_back(nullptr);
      continue;
    }
    Json ms = Json::array();
    Json percent = Json::array();
    for (const double part : parts[row]) {
      ms.push_back(rounded(part));
      percent.push_back(rounded(100 * part / longest));
    }
    const double total = wall_ms(runs, rows[row]);
    bars.push_back(
        {{"ms", ms}, {"percent", percent}, {"total_ms", total > 0 ? rounded(total) : Json()}});
  }
  return bars;
}

}  // namespace

Json make_document(std::span<const Run> runs) {
  const std::vector<Axis> useful = useful_axes(runs);
  const std::vector<Row> rows = rows_of(runs);
  Json document = {{"title", title_of(runs)},
                   {"headline", headline_of(runs, rows)},
                   {"facts", Json::array()},
                   {"runs", Json::array()},
                   {"rows", Json::array()},
                   {"row_of", row_of_runs(rows, runs.size())},
                   {"columns", Json::array()},
                   {"axes", Json::array()},
                   {"charts", charts_of(runs, useful)},
                   {"parts", {"Compute", "Encode", "Exchange", "Decode"}},
                   {"bars", bars_of(runs, rows)},
                   {"members", lanes_of(runs)},
                   {"notes", notes_of(runs)}};
  for (const Fact& fact : facts_of(runs)) {
    document["facts"].push_back({{"name", fact.name}, {"value", fact.value}});
  }
  const bool are_finished =
      std::ranges::all_of(runs, [](const Run& run) { return run.record.is_finished; });
  for (const Column& column : columns_of(runs, rows)) {
    document["columns"].push_back(to_json(column, are_finished));
  }
  for (const Axis& axis : useful) {
    document["axes"].push_back({{"name", axis.name}, {"label", axis.label}, {"log", axis.log}});
  }
  for (const Run& run : runs) {
    document["runs"].push_back(run.name);
  }
  for (const Row& row : rows) {
    document["rows"].push_back({{"name", row.name}, {"runs", row.runs.size()}});
  }
  return document;
}

}  // namespace gradwire::report
