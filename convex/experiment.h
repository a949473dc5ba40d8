// Experiment: what all workers of a run have in common, found before they start: the data, the
// objective, and who has which rows. Immutable, and safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "convex/objective.h"
#include "convex/step_size.h"
#include "data/dataset.h"
#include "data/split.h"
#include "gradwire/method/safe_step.h"

namespace gradwire::convex {

struct ExperimentOptions {
  Loss loss = Loss::logistic;
  L2Rule l2 = {};
  Regulariser regulariser = {};
  data::Split split = {};
  std::size_t ranks = 1;
  std::optional<std::size_t> dedicated_server = {};  // a server that has no rows
  std::uint64_t seed = 1;
};

class Experiment {
 public:
  // Maps labels for logistic regression. Throws Error for labels that do not suit the loss.
  Experiment(data::Dataset data, const ExperimentOptions& options);
  Experiment(const Experiment&) = delete;
  Experiment& operator=(const Experiment&) = delete;

  const Problem& problem() const { return problem_; }
  const Objective& objective() const { return objective_; }
  const data::Shard& shard(std::size_t rank) const { return shards_[rank]; }
  double smoothness() const { return smoothness_; }  // of f

  // For step sizes: of the worst worker.
  StepFacts step_facts() const;

 private:
  data::Dataset data_;
  double loss_smoothness_;  // of f without its l2
  Problem problem_;
  Objective objective_;
  std::vector<data::Shard> shards_;  // by rank
  std::size_t workers_;              // ranks that have rows
  double smoothness_;
};

}  // namespace gradwire::convex
