// Runs as tables, for people.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "console/console.h"
#include "launch/placement.h"
#include "session/run_directory.h"

namespace gradwire::cli {

// The steps of one run: a row for each evaluation.
std::string steps_table(const session::FinishedRun& run, std::size_t columns_max);

// Whether the model that a run left can be told from one that diverged.
bool is_finite(const record::Metrics& final);

// Seconds that a step of each run computes, as predictions take it.
std::vector<double> shared_compute_seconds(std::span<const session::FinishedRun> runs);

// Runs side by side, a row for each: what they came to and sent, and then where the time went.
std::string runs_table(std::span<const session::FinishedRun> runs, std::size_t columns_max);

// For --dry-run: what would be trained, on which workers, and where its record would be.
void print_plans(std::span<const session::RunPlan> plans, const session::TrainOptions& options,
                 const launch::Placement& placement, const console::Console& console);

}  // namespace gradwire::cli
