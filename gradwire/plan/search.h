// The search behind choose(): its effort is an argument here, so that tests can make it give up.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gradwire/plan/choose.h"

namespace gradwire::plan {

struct SearchEffort {
  std::size_t states = 10'000;   // of an exact front, at most
  std::size_t buckets = 10'000;  // where that is not enough
  // How many states fronts may look at together, at some 5 ns each: so many, and so many more for
  // each option.
  std::size_t work = 3'000'000;
  std::size_t work_per_option = 60;
};

// As choose(), for layers and a reference that have been checked.
Choice search(std::span<const std::vector<Option>> layers, double limit,
              std::span<const std::size_t> reference, const SearchEffort& effort);

// The totals, added up in the order of the layers.
Choice total_of(std::span<const std::vector<Option>> layers, std::vector<std::size_t> options);

}  // namespace gradwire::plan
