// Means over training runs that differ only in their seeds, and their standard errors. Pure
// functions; all of them need at least one run.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>

#include "reproduce/claim.h"
#include "session/run_directory.h"

namespace gradwire::reproduce {

// The standard error of a single figure is not known: 0.
struct Spread {
  double mean = 0;
  double error = 0;
};

Spread spread_of(std::span<const double> figures);

// What a verdict is worth that needs all these numbers of runs to be `planned`.
Extent extent_of(std::initializer_list<std::size_t> runs, std::size_t planned);

// The accuracy of each run minus that of its partner with the same seed, in points. There are at
// least as many partners as runs.
Spread accuracy_points(std::span<const session::FinishedRun> runs,
                       std::span<const session::FinishedRun> partners);

// "-0.12 +- 0.05 points", or "-0.12 points" if the error is not known.
std::string points_text(const Spread& points);

// True if the mean difference minus one standard error is at most `points_lost` below zero: noise
// makes a claim harder to hold.
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
