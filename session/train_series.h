// A series of training runs, one after the other, by the workers of this process: directories,
// finished runs that need not be done again, progress for people, Ctrl-C and records. The same for
// every kind of model; a Trainer knows the kind.
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

// What was trained.
struct Trained {
  RunResult result = {};
  record::Json facts = record::Json::object();  // for the record's configuration; rank 0 only
};

// One kind of model with its data, as the options ask for it. Immutable: ranks that are threads
// share it.
class Trainer {
 public:
  virtual ~Trainer() = default;

  // Steps, checkpoints and the configuration of a run. The series adds all else.
  virtual RunOptions run_options(const RunPlan& plan) const = 0;
  // Of all workers together.
  virtual double samples_per_step() const = 0;

  // Throws what train() would throw for a method that does not suit the model, before anything is
  // done. All ranks call it.
  virtual void check(Communicator& communicator, const RunPlan& plan) const = 0;
  // All ranks call it.
  virtual Trained train(Communicator& communicator, const RunPlan& plan,
                        const RunOptions& run) const = 0;
};

// What comes back is rank 0's; elsewhere it means nothing. Writes run.json. Throws Stopped on all
// ranks, and what training throws.
std::vector<FinishedRun> run_series(const Trainer& trainer, const TrainOptions& options,
                                    std::span<const RunPlan> plans,
                                    const launch::Placement& placement,
                                    const console::Console& console);

}  // namespace gradwire::session
