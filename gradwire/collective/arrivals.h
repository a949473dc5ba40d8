// Arrivals: decides when an owner has waited long enough for the messages of a step. It has when a
// share of the ranks has delivered, and then a multiple of the usual spread of these deliveries has
// passed. The spread of a step is the time from the middle one of these deliveries to the last: a
// rank that has caught up sends at once, much earlier than the others, and does not count as usual
// either. It has no clock: callers give the time. For one thread.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>

namespace gradwire {

class Arrivals {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // For `ranks` that deliver, of which the share must have.
  Arrivals(std::size_t ranks, double share);

  // A message of the step at hand is complete.
  void deliver(Time now);

  // When to close without the rest: nothing before the share has delivered, nor while too few steps
  // were seen to know the usual spread.
  std::optional<Time> closes_at() const;

  // The step is closed; the next one begins.
  void close();

  std::size_t needed() const { return needed_; }
  // The median of the last steps; nothing while these are too few.
  std::optional<std::chrono::nanoseconds> usual_spread() const;

  static constexpr std::size_t kStepsMin = 5;    // before the first mean without a rank
  static constexpr std::size_t kStepsKept = 31;  // of which the median is taken
  static constexpr int kUsualSpreads = 3;        // the grace period, in usual spreads

 private:
  const std::size_t needed_;
  std::size_t delivered_ = 0;
  Time middle_;
  Time reached_;  // the share

  std::array<std::chrono::nanoseconds, kStepsKept>
      spreads_{};  // the newest take the oldest's place
  std::size_t steps_ = 0;
};

}  // namespace gradwire
