// Progress: the progress of a command with a known number of steps, as a live line. For one thread.
// The console must outlive it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "console/live_line.h"

namespace gradwire::console {

class Progress {
 public:
  Progress(const Console& console, std::string what, std::size_t steps)
      : line_(console), what_(std::move(what)), steps_(steps) {}

  // The next step begins; `what` names it.
  void step(std::string_view what);

 private:
  LiveLine line_;
  std::string what_;
  std::size_t steps_;
  std::size_t begun_ = 0;
};

}  // namespace gradwire::console
