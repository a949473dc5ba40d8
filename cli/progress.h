// How far a long command has come, on stderr: one live line on a terminal, gone at the end; in a
// log, a plain line now and then. For one thread. The console must outlive it.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "cli/console.h"

namespace gradwire::cli {

class Progress {
 public:
  Progress(const Console& console, std::string what, std::size_t steps);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // The next step begins; `what` names it.
  void step(std::string_view what);

 private:
  using Clock = std::chrono::steady_clock;

  const Console& console_;
  std::string what_;
  std::size_t steps_;
  std::size_t begun_ = 0;
  bool live_line_ = false;  // there is one to wipe
  Clock::time_point next_;  // nothing is said before
};

}  // namespace gradwire::cli
