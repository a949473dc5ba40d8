// Balance: how many samples of a step's batch each worker should have, so that all finish at the
// same time. A pure state machine: all workers feed it the same measurements, and get the same
// shares.
//
// A worker's speed is its samples over the time that it computes. The new shares are in proportion
// to the speeds. Time that does not depend on the samples makes a worker look slower with a small
// share, but the shares still approach those with which all times are equal.
//
// Shares change slowly: only if the slowest worker is expected to save a tenth of its time, and not
// again before kStepsBetween more steps were measured. The times are medians of many steps, so a
// single slow step changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gradwire/core/expected.h"

namespace gradwire::data {

class Balance {
 public:
  static constexpr std::uint64_t kStepsBetween = 10;
  static constexpr double kGainLeast = 0.1;

  // `batch` samples for so many workers, evenly at first. Throws Error for fewer samples than
  // workers.
  Balance(std::size_t workers, std::size_t batch);

  // Samples by worker. Their sum is the batch, and each has at least one.
  std::span<const std::uint32_t> shares() const { return shares_; }

  // True if so many steps with the present shares are enough for a look at them.
  static bool is_due(std::uint64_t steps) { return steps >= kStepsBetween; }

  // The median time of each worker with its present share; 0 if it has not measured enough steps.
  // True if the shares have changed.
  bool take_times(std::span<const std::uint64_t> nanoseconds);

  // For checkpoints. Throws Error for shares of another batch or other workers.
  void load(std::span<const std::uint32_t> shares);

 private:
  std::vector<std::uint32_t> proportional(std::span<const double> speeds) const;

  std::size_t batch_;
  std::vector<std::uint32_t> shares_;
};

// The times of a worker's steps with its present share, for their median.
class StepTimes {
 public:
  void add(double seconds) { seconds_.push_back(seconds); }
  void clear() { seconds_.clear(); }
  // 0 if there are too few steps.
  std::uint64_t median_nanoseconds() const;

 private:
  std::vector<double> seconds_;
};

}  // namespace gradwire::data
