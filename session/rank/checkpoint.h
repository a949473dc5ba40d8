// Checkpoints of a session: everything that the next step depends on. Each has
//
//   method-rankR-of-N.gws    each rank's memory of the method
//
// the files of the trainee, and a manifest (record/checkpoint_directory.h). Random numbers are
// functions of the step, so nothing is saved of them. All ranks call the same functions at the same
// step.
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

// The newest whole checkpoint; nothing where there is none. Throws FileError for a damaged one and
// for one of another configuration, with the list of differences. Throws Error for one of a later
// step than `steps`.
std::optional<Progress> load_checkpoint(Communicator& communicator,
                                        const CheckpointOptions& options, std::uint64_t steps,
                                        Method& method, Trainee& trainee);

}  // namespace gradwire::session
