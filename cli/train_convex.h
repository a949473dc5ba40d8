// gradwire train on convex problems: from options to a run and its record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/console.h"
#include "cli/worker_options.h"
#include "convex/objective.h"
#include "convex/optimum.h"
#include "convex/training.h"
#include "record/run_record.h"

namespace gradwire::cli {

// As they were given.
struct TrainOptions {
  std::string model = "logistic";
  std::string data;  // a file; empty: generated
  std::string split = "iid";
  WorkerOptions workers = {.workers_default = 4};
  std::string method = "none";
  std::uint64_t steps = 1000;
  std::optional<std::size_t> batch;  // nothing: all rows
  std::string l2 = "L/100";
  std::optional<std::string> l1;
  std::optional<std::string> regulariser;
  std::string step = "auto";
  std::uint64_t seed = 1;
  std::string out;  // empty: named after what is run
  bool overwrite = false;
  bool resume = false;
  std::uint64_t checkpoint_every = 0;
  bool json = false;
};

// The directory of the run.
std::filesystem::path run_directory(const TrainOptions& options);

// Throws UsageError for a directory that holds a run which nobody said may go.
void check_run_directory(const TrainOptions& options);

// Throws SpecError and UsageError for what can be refused before anything is started.
void check_options(const TrainOptions& options);

struct ConvexRun {
  record::RunRecord record = {};
  convex::TrainingResult result = {};
  convex::Optimum optimum = {};
  std::string data_name;
  std::size_t rows = 0;
  std::size_t features = 0;
};

// Runs the workers of this process. What comes back is rank 0's; elsewhere it means nothing. Writes
// run.json.
ConvexRun run_convex(const TrainOptions& options, const WorkerPlace& place, const Console& console);

}  // namespace gradwire::cli
