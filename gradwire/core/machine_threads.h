// How many threads the machine runs at once. Header only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>

namespace gradwire {

// From 1 to 1024.
inline std::size_t machine_threads() {
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 1024);
}

}  // namespace gradwire
