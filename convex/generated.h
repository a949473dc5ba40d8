// A small dataset for those who give no file: rows from several groups that differ, so that shards
// of it differ, too. Pure functions of the seed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/dataset.h"

namespace gradwire::convex {

struct GeneratedOptions {
  std::size_t rows = 2000;
  std::size_t features = 40;
  std::uint64_t seed = 1;
};

// Labels are -1 and 1, some of them wrong, so that no plane separates them.
data::Dataset generate_classes(const GeneratedOptions& options);

// Labels are a linear function of the features, and noise.
data::Dataset generate_numbers(const GeneratedOptions& options);

}  // namespace gradwire::convex
