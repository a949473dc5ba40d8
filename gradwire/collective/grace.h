// Grace: when an owner closes its mean without ranks that are late (docs/exchange.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace gradwire {

struct Grace {
  // Of the ranks with messages, from which on an owner waits no longer than the grace period. 0: it
  // waits for all.
  double share = 0;

  // Instead of the clock: the ranks that an owner leaves out in a step. It then waits for exactly
  // all others. The same on all ranks; for tests and simulations.
  std::function<bool(std::size_t rank, std::uint64_t step)> is_late = {};

  bool is_given() const { return share > 0; }
};

// The fastest rank is at most so many steps ahead of the slowest: owners keep that many means.
inline constexpr std::size_t kStepsAheadMax = 8;

// An owner that decides by the clock leaves a rank out in so many steps in a row, and then waits
// for its message.
inline constexpr std::size_t kLeftOutMax = 8;

}  // namespace gradwire
