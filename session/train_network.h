// gradwire train on networks: from options to runs and their records.
#pragma once

#include <span>
#include <vector>

#include "console/console.h"
#include "launch/placement.h"
#include "session/run_directory.h"
#include "session/train_options.h"

namespace gradwire::session {

// Runs the workers of this process, one run after the other, and writes run.json. The result is
// valid on rank 0 only. Throws Stopped on all ranks.
std::vector<FinishedRun> run_network(const TrainOptions& options, std::span<const RunPlan> plans,
                                     const launch::Placement& placement,
                                     const console::Console& console);

}  // namespace gradwire::session
