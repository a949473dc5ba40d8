// Checkpoints of a run: everything that the next step depends on. Each has
//
//   model.gws                    parameters, and the optimiser's memories: the same on all ranks
//   statistics-rankR-of-N.gws    each rank's own running statistics
//   method-rankR-of-N.gws        each rank's memory of the method
//
// and a manifest (record/checkpoint_directory.h). Random numbers and the order of samples are
// functions of the step, so there is nothing to save of them. All ranks call the same functions at
// the same step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "gradwire/collective/communicator.h"
#include "gradwire/method/method.h"
#include "record/run_record.h"
#include "train/learner.h"

namespace gradwire::train {

struct CheckpointOptions {
  std::filesystem::path directory = {};
  record::Json configuration = {};  // what a run that goes on must have the same
  std::size_t kept = 2;             // the last ones, and the best one beside them
};

// The state of a run beside what is in the learner and in the method.
struct Progress {
  std::uint64_t step = 0;                       // how many were done
  record::Metrics metrics = {};                 // of the last evaluation
  std::optional<std::uint64_t> best_step = {};  // of the checkpoints that were evaluated
  record::Metrics best = {};
};

// Throws FileError and PeerError.
void save_checkpoint(Communicator& communicator, const CheckpointOptions& options, Learner& learner,
                     const Method& method, const Progress& progress);

// The newest whole one; nothing where there is none. Throws FileError for one that is damaged, or
// of another configuration, with the list of what differs.
std::optional<Progress> load_checkpoint(Communicator& communicator,
                                        const CheckpointOptions& options, Learner& learner,
                                        Method& method);

// A higher accuracy, and a lower test loss where that is equal or does not count.
bool is_better(const record::Metrics& metrics, const record::Metrics& than, bool by_accuracy);

// Of parameters and the optimiser's memories: the same on all ranks at every step.
std::uint64_t replica_hash(Learner& learner);

}  // namespace gradwire::train
