// Checkpoints of a session. A checkpoint holds all data that the next step depends on:
//
//   method-rankR-of-N.gws    the method's memory on each rank
//   the files of the trainee
//   the manifest             see record/checkpoint_directory.h
//
// There is no state of random generators: random numbers are functions of the step. All ranks call
// the same functions at the same step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "gradwire/collective/communicator.h"
#include "gradwire/method/method.h"
#include "record/json_file.h"
#include "record/metrics.h"
#include "session/rank/trainee.h"

namespace gradwire::session {

struct CheckpointOptions {
  std::filesystem::path directory = {};
  record::Json configuration = {};  // a resumed run must have the same
  std::size_t kept = 2;             // the newest ones, and the best one beside them
};

// The state of a session beside that of the trainee and of the method.
struct Progress {
  std::uint64_t step = 0;                       // steps done
  record::Metrics metrics = {};                 // of the last evaluation
  std::optional<std::uint64_t> best_step = {};  // of the checkpoints that were evaluated
  record::Metrics best = {};
};

// Throws FileError and PeerError.
void save_checkpoint(Communicator& communicator, const CheckpointOptions& options,
                     const Method& method, Trainee& trainee, const Progress& progress);

// Loads the newest complete checkpoint. Returns nothing if there is none. Throws FileError if it is
// damaged or has another configuration; the message lists the differences. Throws Error if it has
// more steps than `steps`.
std::optional<Progress> load_checkpoint(Communicator& communicator,
                                        const CheckpointOptions& options, std::uint64_t steps,
                                        Method& method, Trainee& trainee);

}  // namespace gradwire::session
