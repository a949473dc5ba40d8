// Runs of train and compare, by whatever workers there are, and the page that they leave.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "console/console.h"
#include "launch/placement.h"
#include "record/prediction.h"
#include "session/run_directory.h"
#include "session/train_options.h"

namespace gradwire::session {

// One run after the other. A starter starts processes that do the same, by the arguments that the
// command was given. Nothing comes back where another process reports. Throws Stopped, which says
// how to go on.
std::vector<FinishedRun> run_plans(const TrainOptions& options, std::span<const RunPlan> plans,
                                   const launch::Placement& placement,
                                   const std::vector<std::string>& arguments,
                                   const console::Console& console);

// The page of a run, or of a comparison, from the records in its directory. Returns its path.
// Throws FileError.
std::filesystem::path write_page(const std::filesystem::path& directory);

}  // namespace gradwire::session
