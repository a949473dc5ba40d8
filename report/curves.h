// The curves of a page: a metric of a run against what the run had spent by then. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "record/run_record.h"
#include "report/page.h"

namespace gradwire::report {

// A curve of more points than a screen has columns is slow to draw and shows nothing more.
inline constexpr std::size_t kCurvePointsMax = 600;

// What a run had spent when some of its steps were done.
struct Spent {
  std::uint64_t steps = 0;
  Traffic traffic = {};
  Phases phases = {};
  double seconds = 0;          // by the clock on the wall
  double compute_seconds = 0;  // as predictions take it, see record::compute_seconds_per_step

  // Predictions take `compute` seconds for the step, or for all that are added up in it.
  void add(const record::StepRecord& step, double compute);
};

// What a curve can be drawn against.
struct Axis {
  std::string name;   // "MB sent"
  std::string label;  // "MB sent per worker"
  bool log = false;   // how it is drawn first: bytes differ by orders of magnitude
  std::function<double(const Spent&)> position;
};

// Steps, MB sent, measured seconds, and predicted seconds for each of record::kBandwidths.
std::vector<Axis> axes();

struct CurvePoint {
  Spent spent;
  double value = 0;  // perhaps not finite: the curve has a gap there
};

using Metric = std::optional<double> record::Metrics::*;

// All steps with a value of the metric, beginning with the start. Predictions take
// `compute_seconds` for each step.
std::vector<CurvePoint> curve_of(const Run& run, Metric metric, double compute_seconds);

// At most points_max points, each the mean of as many neighbours. It stands where its last
// neighbour stood, so that no run looks faster than it was. The first point, which is the start,
// stays as it is. Needs points_max >= 2.
std::vector<CurvePoint> thinned(std::span<const CurvePoint> curve, std::size_t points_max);

}  // namespace gradwire::report
