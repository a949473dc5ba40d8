// Checkpoints of a session. A checkpoint holds all data that the next step depends on:
//
//   method-rankR-of-N.gws    the method's memory on each rank
//   the files of the trainee
//   the manifest             see record/checkpoint_directory.h
//
// Every host may have a disk of its own: then each holds the files of its ranks, and all files that
// ranks share. There is no state of random generators: random numbers are functions of the step.
// All ranks call the same functions at the same step.
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
  bool leads_disk = false;          // this rank writes what ranks share, for its disk (disk.h)
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

// Loads the newest checkpoint that is complete on the disks of all ranks. Returns nothing if no
// rank has one. Throws FileError if it is damaged or has another configuration; the message lists
// the differences. Throws Error if it has more steps than `steps`, or if no checkpoint is on all
// disks.
std::optional<Progress> load_checkpoint(Communicator& communicator,
                                        const CheckpointOptions& options, std::uint64_t steps,
                                        Method& method, Trainee& trainee);

}  // namespace gradwire::session
