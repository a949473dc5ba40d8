// Where the checkpoints of a run are: directories step-N, each with a manifest that is written
// last, when everything else is there. A directory without a manifest is no checkpoint. What else
// is in one is up to those who write it.
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
  std::uint64_t step = 0;  // how many were done
  std::filesystem::path place;
};

// The whole ones, by step.
std::vector<WholeCheckpoint> whole_checkpoints(const std::filesystem::path& directory);

// The directory of a checkpoint, made if it is not there yet. Throws FileError.
std::filesystem::path begin_checkpoint(const std::filesystem::path& directory, std::uint64_t step);

// Makes it one. Adds the step, and what a run that goes on must have the same. Throws FileError.
void complete_checkpoint(const std::filesystem::path& place, std::uint64_t step,
                         const Json& configuration, Json manifest);

// Throws FileError for a manifest that cannot be read, and for one of another configuration, with
// the list of what differs.
Json read_manifest(const WholeCheckpoint& checkpoint, const Json& configuration);

// What a configuration has now that it did not have then: "seed was 1 and is 2". Empty if nothing.
std::string differences(const Json& then, const Json& now);

// Removes all whole ones but the last and the best one, and those that are not whole. What cannot
// be removed takes room and does no harm.
void remove_old_checkpoints(const std::filesystem::path& directory, std::size_t kept,
                            std::optional<std::uint64_t> best = {});

}  // namespace gradwire::record
