// Curves of training runs. Pure functions.
#pragma once

#include <optional>
#include <string>

#include "reproduce/claim.h"
#include "session/run_directory.h"

namespace gradwire::reproduce {

using Metric = std::optional<double> record::Metrics::*;

// The horizontal axis of a curve.
enum class Along { steps, megabytes, uploads, upload_megabits };

// The metric at every step that recorded it, against the steps, the MB sent per worker, the uploads
// of all workers, or the Mbit of all workers' messages, counted from the beginning. If the run
// recorded its start, that is the first point.
Curve curve_of(const session::FinishedRun& run, std::string label, Metric metric, Along along);

// The first x at which the curve reaches `target`: at or above it, or with `falls` at or below it.
// Nothing if it never does.
std::optional<double> first_reaching(const Curve& curve, double target, bool falls);

}  // namespace gradwire::reproduce
