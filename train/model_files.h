// The trained model for other programs: a directory with one .npy file for each parameter, and one
// for the running statistics.
#pragma once

#include <filesystem>
#include <span>

#include "train/model.h"

namespace gradwire::train {

inline constexpr const char* kModelFiles = "model";  // in a run's directory

// Throws FileError.
void write_model_files(const std::filesystem::path& directory, Model& model,
                       std::span<const float> statistics);

}  // namespace gradwire::train
