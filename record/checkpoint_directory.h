// The checkpoints of a run: directories step-N, each with a manifest. The manifest is written last,
// so a directory without one is no checkpoint. The other files in a directory belong to the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "record/json_file.h"

namespace gradwire::record {

inline constexpr const char* kCheckpoints = "checkpoints";  // in a run's directory

struct WholeCheckpoint {
  std::uint64_t step = 0;  // steps done
  std::filesystem::path directory;
};

// All checkpoints with a manifest, in the order of their steps.
std::vector<WholeCheckpoint> whole_checkpoints(const std::filesystem::path& directory);

// Creates the directory of a checkpoint, if it does not exist. Throws FileError.
std::filesystem::path begin_checkpoint(const std::filesystem::path& directory, std::uint64_t step);

// Writes the manifest, with the step and with the configuration that a resumed run must have.
// Throws FileError.
void complete_checkpoint(const std::filesystem::path& checkpoint, std::uint64_t step,
                         const Json& configuration, Json manifest);

// Throws FileError for a manifest that cannot be read, and for one of another configuration, with
// the differences.
Json read_manifest(const WholeCheckpoint& checkpoint, const Json& configuration);

// The differences of two configurations, such as "seed was 1 and is 2". Empty if there are none.
std::string differences(const Json& then, const Json& now);

// Removes all checkpoints of more than `step` steps. Ignores failures.
void remove_checkpoints_after(const std::filesystem::path& directory, std::uint64_t step);

// Removes all checkpoints but the newest `kept` and the best one, and directories without a
// manifest. Ignores failures: old checkpoints only take space.
void remove_old_checkpoints(const std::filesystem::path& directory, std::size_t kept,
                            std::optional<std::uint64_t> best = {});

}  // namespace gradwire::record
