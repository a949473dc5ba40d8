// LocalSchedule: which fragment of the model is exchanged when. A pure function of the step, so
// that all ranks agree. Value type.
//
// Steps count from 1, the first one of the workers' own. Each fragment begins an exchange every
// `every` steps; the fragments take turns, and the last one is due at multiples of `every`. The
// mean is applied `delay` steps later.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradwire {

struct LocalSchedule {
  std::uint64_t every = 30;
  std::uint64_t after = 0;  // steps that average gradients, before step 1
  std::size_t fragments = 1;
  std::uint64_t delay = 0;  // below `every`

  bool begins(std::size_t fragment, std::uint64_t step) const {
    const std::uint64_t first = (fragment + 1) * every / fragments;
    return step >= first && (step - first) % every == 0;
  }
};

}  // namespace gradwire
