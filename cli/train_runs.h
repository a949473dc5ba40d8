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

inline constexpr const char* kPageFile = "report.html";

// One run after the other. A starter starts processes that do the same, by the arguments that the
// command was given. Nothing comes back where another process reports. Throws Stopped, which says
// how to go on.
std::vector<FinishedRun> run_plans(const TrainOptions& options, std::span<const RunPlan> plans,
                                   const WorkerPlace& place,
                                   const std::vector<std::string>& arguments,
                                   const Console& console);

// Throws FileError.
void write_report(const std::filesystem::path& path, std::span<const FinishedRun> runs);

}  // namespace gradwire::cli
