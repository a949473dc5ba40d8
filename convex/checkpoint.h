// Checkpoints of a run: directories step-N, each with every rank's memory of the method, the model,
// and a manifest that is written last, when all ranks have written. A directory without a manifest
// is not a checkpoint. All ranks call the same functions at the same step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "gradwire/collective/communicator.h"
#include "gradwire/method/method.h"
#include "record/json_file.h"

namespace gradwire::convex {

struct Checkpoint {
  std::uint64_t step = 0;  // how many were done
  std::vector<double> x;
  double moved_squared = 0;  // by the last step
};

// `configuration` is what a run that goes on must have the same. Older checkpoints, all but the
// last one, are removed. Throws FileError and PeerError.
void save_checkpoint(Communicator& communicator, const Method& method,
                     const std::filesystem::path& directory, const record::Json& configuration,
                     const Checkpoint& checkpoint);

// The newest whole one, with the method's memory loaded; nothing where there is none. Throws Error,
// with the list of what differs, for a checkpoint of another configuration.
std::optional<Checkpoint> load_checkpoint(Communicator& communicator, Method& method,
                                          const std::filesystem::path& directory,
                                          const record::Json& configuration);

}  // namespace gradwire::convex
