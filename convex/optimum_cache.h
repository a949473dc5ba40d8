// Optima that were found before, one small JSON file each. A file that is damaged, of another
// problem, or whose point is not the optimum that it says, is not used: the optimum is found and
// written again.
#pragma once

#include <filesystem>

#include "convex/optimum.h"

namespace gradwire::convex {

// Where the optimum of this objective is kept. The name is a checksum of data, model, l2 and R.
std::filesystem::path optimum_path(const Objective& objective,
                                   const std::filesystem::path& directory);

// Makes the directory where it is missing. Throws FileError when nothing can be written there.
Optimum find_optimum_once(const Objective& objective, const std::filesystem::path& directory);

}  // namespace gradwire::convex
