// The progress of a training run as a live line: step, loss, accuracy, speed, bytes, time left. For
// one thread. The console must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "console/live_line.h"
#include "session/rank/session.h"

namespace gradwire::session {

class LiveReport {
 public:
  LiveReport(const console::Console& console, std::string method, std::uint64_t steps,
             std::size_t workers, double samples_per_step)
      : line_(console),
        method_(std::move(method)),
        steps_(steps),
        workers_(workers),
        samples_per_step_(samples_per_step) {}

  void show(const Report& report);
  // A line that stays.
  void say(const std::string& text) { line_.say(method_ + ": " + text); }

 private:
  console::LiveLine line_;
  std::string method_;
  std::uint64_t steps_;
  std::size_t workers_;
  double samples_per_step_;
};

}  // namespace gradwire::session
