// Runs as tables, for people.
#pragma once

#include <span>
#include <string>

#include "cli/run_directory.h"

namespace gradwire::cli {

// One run over its steps: a row wherever somebody looked at the model.
std::string steps_table(const FinishedRun& run);

// Runs side by side, a row for each.
std::string runs_table(std::span<const FinishedRun> runs);

}  // namespace gradwire::cli
