// Runs of train and compare, by whatever workers there are, and the page that they leave.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/run_directory.h"
#include "cli/train_options.h"
#include "cli/worker_place.h"
#include "record/prediction.h"

namespace gradwire::cli {

// One run after the other. A starter starts processes that do the same, by the arguments that the
// command was given. Nothing comes back where another process reports. Throws Stopped, which says
// how to go on.
std::vector<FinishedRun> run_plans(const TrainOptions& options, std::span<const RunPlan> plans,
                                   const WorkerPlace& place,
                                   const std::vector<std::string>& arguments,
                                   const Console& console);

// The page of a run, or of a comparison, from the records in its directory. Returns its path.
// Throws FileError.
std::filesystem::path write_page(const std::filesystem::path& directory);

}  // namespace gradwire::cli
