// How a training run is doing, as a live line: step, loss, accuracy, speed, bytes, time left. For
// one thread. The console must outlive it.
#pragma once

#include <cstdint>
#include <string>

#include "cli/live_line.h"
#include "record/run_record.h"
#include "train/training.h"

namespace gradwire::cli {

class LiveReport {
 public:
  LiveReport(const Console& console, std::string method, std::uint64_t steps, std::size_t workers)
      : line_(console), method_(std::move(method)), steps_(steps), workers_(workers) {}

  void show(const train::Report& report);

 private:
  LiveLine line_;
  std::string method_;
  std::uint64_t steps_;
  std::size_t workers_;
};

// "1 h 05 min", "12 min 30 s" or "42 s".
std::string duration_text(double seconds);

}  // namespace gradwire::cli
