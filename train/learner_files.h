// The learner's part of a checkpoint (session/rank/checkpoint.h):
//
//   model.gws                    parameters, and the optimiser's memories: the same on all ranks
//   worker-rankR-of-N.gws        instead, where each rank takes steps of its own
//   statistics-rankR-of-N.gws    each rank's own running statistics
//
// and fields of the manifest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "record/json_file.h"
#include "train/learner.h"

namespace gradwire::train {

// Writes this rank's files, and returns the fields of the manifest. Rank 0 writes the model. Throws
// FileError.
record::Json save_learner(const std::filesystem::path& directory, std::size_t rank,
                          std::size_t ranks, bool leads_disk, Learner& learner);

// Throws FileError for files that are damaged or of another model.
void load_learner(const std::filesystem::path& directory, const record::Json& manifest,
                  std::size_t rank, std::size_t ranks, Learner& learner);

// Of parameters and the optimiser's memories: the same on all ranks at every step, unless ranks
// take steps of their own.
std::uint64_t replica_hash(Learner& learner);

}  // namespace gradwire::train
