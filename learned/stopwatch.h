// What time it is, and how much has gone since then.
#pragma once

#include <chrono>

namespace gradwire::learned {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace gradwire::learned
