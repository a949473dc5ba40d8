// Task: what all workers of a run have in common: the data, who has which samples, and how the
// model is trained. Immutable, and safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "convex/regulariser.h"
#include "data/source.h"
#include "data/split.h"
#include "train/optimiser.h"
#include "train/schedule.h"

namespace gradwire::train {

// A rank that sleeps after its computing, so that this takes `factor` times as long.
struct SlowRank {
  std::size_t rank = 0;
  double factor = 1;
};

// Steps of its own that a rank leaves out: no samples, no weight, and its parameters stay.
struct AwayRank {
  std::optional<std::size_t> rank = {};  // nothing: the ranks in turns
  std::uint64_t period = 1;

  // A rank takes the last step of every `period`; in turns, each rank is away for a whole period.
  bool is_away(std::size_t which, std::uint64_t step, std::size_t ranks) const {
    if (rank) return which == *rank && (step + 1) % period != 0;
    return which == step / period % ranks;
  }
};

struct TaskOptions {
  std::string model;
  data::Split split = {};
  std::size_t ranks = 1;
  std::optional<std::size_t> dedicated_server = {};  // a server that has no samples
  std::size_t batch = 64;                            // samples a worker, for one part of a step
  std::size_t accumulate = 1;                        // parts of a step
  bool balance = false;  // workers share the batch of a step in proportion to their speeds
  OptimiserOptions optimiser = {};
  convex::Regulariser regulariser = {};
  std::optional<double> clip = {};  // the largest norm of a gradient
  Schedule schedule = {};
  double learning_rate = 0.05;
  double warmup_epochs = 0;
  std::size_t operation_threads = 1;  // of one worker
  std::uint64_t seed = 1;
  std::vector<SlowRank> slow = {};    // for measurements
  std::optional<AwayRank> away = {};  // for measurements, of local steps
};

struct Task {
  std::shared_ptr<const data::Source> source;
  TaskOptions options;
  std::vector<data::Shard> shards;  // of the ranks that have samples

  Task(std::shared_ptr<const data::Source> from, const TaskOptions& how);

  std::uint64_t steps_per_epoch() const { return steps_per_epoch_; }
  std::size_t global_batch() const { return options.batch * options.accumulate * shards.size(); }
  // Its place among the ranks that have samples; nothing for the one that has none.
  std::optional<std::size_t> worker_of(std::size_t rank) const;
  // What a rank's samples count in a mean over the ranks.
  float weight_of(std::size_t rank) const;
  RatePlan rate_plan(std::uint64_t steps) const;

 private:
  std::uint64_t steps_per_epoch_;
};

}  // namespace gradwire::train
