// A series of training runs, one after the other, on the workers of this process: directories,
// finished runs that are skipped, progress, Ctrl-C and records. The same for every kind of model; a
// Trainer knows the kind.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "console/console.h"
#include "gradwire/collective/communicator.h"
#include "launch/placement.h"
#include "record/json_file.h"
#include "session/rank/session.h"
#include "session/run_directory.h"
#include "session/train_options.h"

namespace gradwire::session {

// The result of one run.
struct Trained {
  RunResult result = {};
  record::Json facts = record::Json::object();  // for the record's configuration; rank 0 only
};

// One kind of model with its data, as the options ask for it. Immutable: ranks that are threads
// share it.
class Trainer {
 public:
  virtual ~Trainer() = default;

  // Steps, checkpoints and the configuration of a run. The series sets the other options.
  virtual RunOptions run_options(const RunPlan& plan) const = 0;
  // Of all workers together.
  virtual double samples_per_step() const = 0;

  // Throws, before any work, if the method does not suit the model. All ranks call it.
  virtual void check(Communicator& communicator, const RunPlan& plan) const = 0;
  // All ranks call it.
  virtual Trained train(Communicator& communicator, const RunPlan& plan,
                        const RunOptions& run) const = 0;
};

// Writes run.json. The result is valid on rank 0 only. Throws Stopped on all ranks, and the errors
// of training.
std::vector<FinishedRun> run_series(const Trainer& trainer, const TrainOptions& options,
                                    std::span<const RunPlan> plans,
                                    const launch::Placement& placement,
                                    const console::Console& console);

}  // namespace gradwire::session
