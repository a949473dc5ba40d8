// Curves of training runs, and places on them. Pure functions.
#pragma once

#include <optional>
#include <string>

#include "reproduce/claim.h"
#include "session/run_directory.h"

namespace gradwire::reproduce {

using Metric = std::optional<double> record::Metrics::*;

// What a curve goes along.
enum class Along { steps, megabytes, uploads, upload_megabits };

// The metric wherever somebody looked at it, against steps, MB that a worker sent, uploads of all
// workers, or Mbit of what all workers had to say, counted from the beginning. Where the run has a
// start, that is the first point.
Curve curve_of(const session::FinishedRun& run, std::string label, Metric metric, Along along);

// Where on the way the curve is at `target` for the first time: at or above it, or with `falls` at
// or below. Nothing where it never is.
std::optional<double> first_reaching(const Curve& curve, double target, bool falls);

}  // namespace gradwire::reproduce
