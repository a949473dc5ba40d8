// How a training run is doing, as a live line: step, loss, accuracy, speed, bytes, time left. For
// one thread. The console must outlive it.
#pragma once

#include <cstdint>
#include <string>

#include "console/live_line.h"
#include "record/run_record.h"
#include "train/training.h"

namespace gradwire::session {

class LiveReport {
 public:
  LiveReport(const console::Console& console, std::string method, std::uint64_t steps,
             std::size_t workers)
      : line_(console), method_(std::move(method)), steps_(steps), workers_(workers) {}

  void show(const train::Report& report);

 private:
  console::LiveLine line_;
  std::string method_;
  std::uint64_t steps_;
  std::size_t workers_;
};

}  // namespace gradwire::session
