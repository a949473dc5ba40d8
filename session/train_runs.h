// The runs of `train` and `compare`, on threads or processes, and their page.
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

// Does one run after the other. A starter starts processes with the arguments of the command. The
// result is empty if another process reports. Throws Stopped, which says how to resume.
std::vector<FinishedRun> run_plans(const TrainOptions& options, std::span<const RunPlan> plans,
                                   const launch::Placement& placement,
                                   const std::vector<std::string>& arguments,
                                   const console::Console& console);

// The page of a run, or of a comparison, from the records in its directory. Returns its path.
// Throws FileError.
std::filesystem::path write_page(const std::filesystem::path& directory);

}  // namespace gradwire::session
