#include "report/curves.h"

#include <algorithm>

#include "gradwire/core/check.h"
#include "record/prediction.h"

namespace gradwire::report {
namespace {

constexpr double kMbPerByte = 1e-6;

CurvePoint mean_of(std::span<const CurvePoint> neighbours) {
  double sum = 0;
  for (const CurvePoint& point : neighbours) sum += point.value;
  return {.spent = neighbours.back().spent, .value = sum / static_cast<double>(neighbours.size())};
}

}  // namespace

void Spent::add(const record::StepRecord& step, double compute) {
  steps = step.step;
  traffic += step.traffic;
  phases += step.phases;
  seconds += step.seconds;
  compute_seconds += compute;
}

std::vector<Axis> axes() {
  std::vector<Axis> axes = {{"Steps", "steps", false,
                             [](const Spent& spent) { return static_cast<double>(spent.steps); }},
                            {"MB sent", "MB sent per worker", true,
                             [](const Spent& spent) {
                               return kMbPerByte * static_cast<double>(spent.traffic.bytes_sent);
                             }},
                            {"Measured time", "seconds, measured", false,
                             [](const Spent& spent) { return spent.seconds; }}};
  for (const record::Bandwidth& link : record::kBandwidths) {
    axes.push_back({"At " + std::string(link.name),
                    "seconds, predicted at " + std::string(link.name), false,
                    [link](const Spent& spent) {
                      Phases phases = spent.phases;
                      phases.compute_seconds = spent.compute_seconds;
                      return record::predicted_seconds(phases, spent.traffic, link.bits_per_second);
                    }});
  }
  return axes;
}

std::vector<CurvePoint> curve_of(const Run& run, Metric metric, double compute_seconds) {
  std::vector<CurvePoint> curve;
  Spent spent;
  if (const auto value = run.record.start.*metric) curve.push_back({spent, *value});
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    const record::StepRecord& step = run.steps[i];
    const auto count = static_cast<double>(run.counts.empty() ? 1 : run.counts[i]);
    spent.add(step, count * compute_seconds);
    if (const auto value = step.metrics.*metric) curve.push_back({spent, *value});
  }
  return curve;
}

std::vector<CurvePoint> thinned(std::span<const CurvePoint> curve, std::size_t points_max) {
  GW_CHECK(points_max >= 2);
  if (curve.size() <= points_max) return {curve.begin(), curve.end()};
  std::vector<CurvePoint> points = {curve.front()};
  std::span<const CurvePoint> rest = curve.subspan(1);
  const std::size_t neighbours = (rest.size() + points_max - 2) / (points_max - 1);
  while (!rest.empty()) {
    const std::size_t count = std::min(neighbours, rest.size());
    points.push_back(mean_of(rest.first(count)));
    rest = rest.subspan(count);
  }
  return points;
}

}  // namespace gradwire::report
