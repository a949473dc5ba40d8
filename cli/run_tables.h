// Runs as tables, for people.
#pragma once

#include <span>
#include <string>

#include "session/run_directory.h"

namespace gradwire::cli {

// The steps of one run: a row for each evaluation.
std::string steps_table(const session::FinishedRun& run);

// Whether the model that a run left can be told from one that diverged.
bool is_finite(const record::Metrics& final);

// Runs side by side, a row for each: what they came to and sent, and then where the time went.
std::string runs_table(std::span<const session::FinishedRun> runs);

}  // namespace gradwire::cli
