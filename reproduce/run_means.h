// Figures of training runs that differ in their seeds: means, and how sure they are. Pure
// functions; all of them need at least one run.
#pragma once

#include <span>
#include <string>

#include "session/run_directory.h"

namespace gradwire::reproduce {

// Of a single figure nobody knows the standard error: 0.
struct Spread {
  double mean = 0;
  double error = 0;
};

Spread spread_of(std::span<const double> figures);

// How much higher the accuracy of each run is than that of its partner, which had the same seed, in
// points. There are as many of both.
Spread accuracy_points(std::span<const session::FinishedRun> runs,
                       std::span<const session::FinishedRun> partners);

// "-0.12 +- 0.05 points", or "-0.12 points" where nobody knows better.
std::string points_text(const Spread& points);

// Whether a difference is no more than `points_lost` below zero, on average. How sure that is does
// not count: noise must not make it easier.
bool is_no_lower(const Spread& points, double points_lost);

double mean_accuracy(std::span<const session::FinishedRun> runs);
double mean_ratio(std::span<const session::FinishedRun> runs);  // see record::compression_ratio
double mean_step_bytes(std::span<const session::FinishedRun> runs);  // that a worker sent
double mean_megabytes(
    std::span<const session::FinishedRun> runs);  // that a worker sent in the whole run

// 0.8845 is "88.45%".
std::string percent(double share);

// "3 seeds".
std::string seeds_text(std::span<const session::FinishedRun> runs);

}  // namespace gradwire::reproduce
