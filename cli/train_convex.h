// gradwire train on convex problems: from options to runs and their records.
#pragma once

#include <span>
#include <vector>

#include "cli/console.h"
#include "cli/run_directory.h"
#include "cli/train_options.h"
#include "cli/worker_place.h"

namespace gradwire::cli {

// Runs the workers of this process, a run after the other. What comes back is rank 0's; elsewhere
// it means nothing. Writes run.json.
std::vector<FinishedRun> run_convex(const TrainOptions& options, std::span<const RunPlan> plans,
                                    const WorkerPlace& place, const Console& console);

}  // namespace gradwire::cli
