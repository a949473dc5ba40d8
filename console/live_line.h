// LiveLine: one line on stderr that shows the progress of a command. On a terminal it is rewritten
// in place, and erased at the end; in a log it is a plain line now and then. For one thread. The
// console must outlive it.
#pragma once

#include <chrono>
#include <string_view>

#include "console/console.h"

namespace gradwire::console {

class LiveLine {
 public:
  explicit LiveLine(const Console& console);
  ~LiveLine();
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  // Whether it is time to show a line.
  bool is_due() const { return Clock::now() >= next_; }
  void show(std::string_view line);
  // A line that stays, above the live one.
  void say(std::string_view line);

 private:
  using Clock = std::chrono::steady_clock;

  const Console& console_;
  bool is_shown_ = false;   // there is one to wipe
  Clock::time_point next_;  // nothing is said before
};

}  // namespace gradwire::console
