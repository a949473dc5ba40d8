#include "report/document.h"

#include <algorithm>
#include <array>
#include <numeric>

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

Json to_json(const Column& column) {
  Json values = Json::array();
  for (const auto& value : column.values) values.push_back(rounded(value));
  return {{"group", column.group},     {"name", column.name},           {"hint", column.hint},
          {"look", name(column.look)}, {"better", name(column.better)}, {"values", values},
          {"best", best_of(column)}};
}

struct ChartKind {
  const char* title;
  Metric metric;
  Look look;
  bool log;          // how it is drawn first
  bool is_averaged;  // a value for every step: neighbours may be averaged
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
    for (const record::StepRecord& step : runs[i].steps) ends[i].add(step);
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
Json chart_of(const ChartKind& kind, std::span<const Run> runs, std::span<const Axis> axes) {
  Json curves = Json::array();
  bool is_thinned = false;
  bool has_curve = false;
  for (const Run& run : runs) {
    std::vector<CurvePoint> curve = curve_of(run, kind.metric);
    has_curve = has_curve || curve.size() > 1;
    if (kind.is_averaged && curve.size() > kCurvePointsMax) {
      curve = thinned(curve, kCurvePointsMax);
      is_thinned = true;
    }
    curves.push_back(to_json(curve, axes));
  }
  if (!has_curve) return nullptr;
  return {{"title", kind.title},
          {"look", name(kind.look)},
          {"log", kind.log},
          {"averaged", is_thinned},
          {"curves", std::move(curves)}};
}

Json charts_of(std::span<const Run> runs, std::span<const Axis> axes) {
  Json charts = Json::array();
  for (const ChartKind& kind : kCharts) {
    if (Json chart = chart_of(kind, runs, axes); !chart.is_null()) charts.push_back(chart);
  }
  return charts;
}

std::array<double, 4> parts_of(const Phases& phases) {
  return {phases.compute_seconds, phases.encode_seconds, phases.exchange_seconds,
          phases.decode_seconds};
}

double sum_of_parts(const Phases& phases) {
  const std::array<double, 4> parts = parts_of(phases);
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

// {"ms": [a part each], "percent": of the longest bar, "total_ms"}, or null without steps.
Json bar_of(const Run& run, double longest_ms) {
  if (run.record.steps == 0 || !(longest_ms > 0)) return nullptr;
  const double ms_per_second = kMsPerSecond / static_cast<double>(run.record.steps);
  Json ms = Json::array();
  Json percent = Json::array();
  for (const double seconds : parts_of(run.record.phases)) {
    ms.push_back(rounded(ms_per_second * seconds));
    percent.push_back(rounded(100 * ms_per_second * seconds / longest_ms));
  }
  const double total = run.record.seconds;
  return {{"ms", ms},
          {"percent", percent},
          {"total_ms", total > 0 ? rounded(ms_per_second * total) : Json()}};
}

Json bars_of(std::span<const Run> runs) {
  double longest_ms = 0;
  for (const Run& run : runs) {
    if (run.record.steps == 0) continue;
    longest_ms = std::max(longest_ms, kMsPerSecond * sum_of_parts(run.record.phases) /
                                          static_cast<double>(run.record.steps));
  }
  Json bars = Json::array();
  for (const Run& run : runs) bars.push_back(bar_of(run, longest_ms));
  return bars;
}

}  // namespace

Json make_document(std::span<const Run> runs) {
  const std::vector<Axis> useful = useful_axes(runs);
  Json document = {{"title", title_of(runs)},
                   {"headline", headline_of(runs)},
                   {"facts", Json::array()},
                   {"runs", Json::array()},
                   {"columns", Json::array()},
                   {"axes", Json::array()},
                   {"charts", charts_of(runs, useful)},
                   {"parts", {"Compute", "Encode", "Exchange", "Decode"}},
                   {"bars", bars_of(runs)},
                   {"members", lanes_of(runs)},
                   {"notes", notes_of(runs)}};
  for (const Fact& fact : facts_of(runs)) {
    document["facts"].push_back({{"name", fact.name}, {"value", fact.value}});
  }
  for (const Column& column : columns_of(runs)) document["columns"].push_back(to_json(column));
  for (const Axis& axis : useful) {
    document["axes"].push_back({{"name", axis.name}, {"label", axis.label}, {"log", axis.log}});
  }
  for (const Run& run : runs) {
    document["runs"].push_back(run.name);
  }
  return document;
}

}  // namespace gradwire::report
