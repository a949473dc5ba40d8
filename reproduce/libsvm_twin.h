// The data sets of published convex experiments: the files if the user has them, and generated
// twins of the same size otherwise.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "reproduce/workbench.h"

namespace gradwire::reproduce {

// What a twin has in common with its file. Features are 0 or 1.
struct TwinShape {
  const char* name;
  std::size_t rows;
  std::size_t features;
  double ones;      // in a row, on average
  double positive;  // the share of rows with label 1
};

inline constexpr TwinShape kMushrooms = {"mushrooms", 8124, 112, 21, 0.48};
inline constexpr TwinShape kA5a = {"a5a", 6414, 122, 13.9, 0.24};
inline constexpr TwinShape kW8a = {"w8a", 49749, 300, 11.7, 0.03};

struct LibsvmFile {
  std::filesystem::path path;
  std::string name;  // "mushrooms" or "mushrooms-twin"
  bool is_twin = false;
};

// The file in the workbench's data directory, or a twin that is written to the workbench's own
// directory. Throws FileError.
LibsvmFile find_libsvm(const Workbench& bench, const TwinShape& shape);

// A pure function of the shape. Some features are far more common than others. A noisy plane gives
// the labels, so that no plane separates them.
std::string twin_text(const TwinShape& shape);

}  // namespace gradwire::reproduce
