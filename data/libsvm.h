// Datasets in the text format of LIBSVM: a row a line, "LABEL INDEX:VALUE INDEX:VALUE ...", with
// indices that rise from 1. What follows a '#' is a comment; lines with nothing else are skipped.
#pragma once

#include <filesystem>

#include "data/dataset.h"

namespace gradwire::data {

inline constexpr std::uint32_t kFeaturesMax = std::uint32_t{1} << 28;

// Labels are as they stand in the file. Throws FileError with the line, what was expected there and
// what was found.
Dataset read_libsvm(const std::filesystem::path& path);

}  // namespace gradwire::data
