#include "reproduce/run_curves.h"

#include <cmath>

namespace gradwire::reproduce {
namespace {

double way_of(const record::StepRecord& step, std::size_t workers, Along along) {
  switch (along) {
    case Along::steps:
      return 1;
    case Along::megabytes:
      return 1e-6 * static_cast<double>(step.bytes_up);
    case Along::uploads:
      return static_cast<double>(step.uploads);
    case Along::upload_megabits:
      return 8e-6 * static_cast<double>(workers * step.message_bytes);
  }
  return 0;
}

void add_point(Curve& curve, double x, const std::optional<double>& y) {
  if (!y || !std::isfinite(*y)) return;
  curve.x.push_back(x);
  curve.y.push_back(*y);
}

}  // namespace

Curve curve_of(const session::FinishedRun& run, std::string label, Metric metric, Along along) {
  Curve curve{.label = std::move(label), .x = {}, .y = {}};
  add_point(curve, 0, run.record.start.*metric);
  double way = 0;
  for (const record::StepRecord& step : run.steps) {
    way += way_of(step, run.record.workers, along);
    add_point(curve, way, step.metrics.*metric);
  }
  return curve;
}

std::optional<double> first_reaching(const Curve& curve, double target, bool falls) {
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    if (falls ? curve.y[i] <= target : curve.y[i] >= target) return curve.x[i];
  }
  return std::nullopt;
}

}  // namespace gradwire::reproduce
