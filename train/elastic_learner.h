// ElasticLearner: the network and the samples of one member of an elastic run
// (gradwire/elastic/elastic_group.h). All members hold the same bits after every update:
// parameters, optimiser, the order of the samples, what is to be done next. It needs no group by
// itself, so that tests can drive it. For one thread; the task must outlive it.
//
// The batch of the task is the global one: members share it, however many there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/elastic_samples.h"
#include "gradwire/elastic/elastic_group.h"
#include "record/metrics.h"
#include "train/model.h"
#include "train/optimiser.h"
#include "train/task.h"

namespace gradwire::train {

class ElasticLearner {
 public:
  struct Plan {
    std::uint64_t steps = 1;
    std::uint64_t evaluate_every = 0;  // steps; 0: after the last one only
  };

  // `traits` are those of the method that averages.
  ElasticLearner(const Task& task, const Plan& plan, const MethodTraits& traits);

  // What the group averages: in a step, and for evaluations.
  std::vector<MethodTensor> tensors() const;
  std::vector<MethodTensor> buffers() const;
  std::size_t global_batch() const;

  // What the next turn is for, the same on all members. An evaluation takes a turn or two: first
  // the running statistics of normalisation layers are averaged, if there are any, then the scores
  // of the members' parts of the test set. The last turn of all is the farewell: nothing depends on
  // it any more, so members can leave in it, one sooner than the other.
  enum class Work { step, average, none };
  Work next_work() const;
  bool is_farewell() const { return phase_ == Phase::farewell; }

  // Work::step: the gradient of this member's share, in gradients(). Zeros if it has none.
  struct Computed {
    std::size_t samples = 0;
    Score score = {};
  };
  Computed compute(const ElasticTurn& turn);
  std::span<const std::span<float>> gradients() { return gradients_; }
  double learning_rate() const { return rates_.at(steps_done_); }

  // Work::average: what this member gives.
  std::span<const std::span<float>> compute_average(const ElasticTurn& turn);

  // For ElasticCallbacks.
  void apply(const ElasticUpdate& update);
  std::vector<std::byte> save();
  // Throws Error for a state of another task.
  void load(std::span<const std::byte> bytes);
  std::uint64_t hash();

  // The same as a value, for files.
  MethodState state();
  void load(const MethodState& state);

  std::uint64_t steps_done() const { return steps_done_; }
  std::uint64_t epoch() const { return samples_.epoch(); }
  // Of the last evaluation.
  const record::Metrics& metrics() const { return metrics_; }
  // What the last step learned from.
  const data::ElasticSamples::Used& last_used() const { return last_used_; }

  Model& model() { return *model_; }

 private:
  enum class Phase { training, statistics, scores, farewell, over };

  void apply_average(const ElasticUpdate& update);
  void apply_step(const ElasticUpdate& update);
  bool is_evaluated() const;
  Phase after(Phase evaluation) const;

  const Task& task_;
  const Plan plan_;
  const MethodTraits traits_;
  const RatePlan rates_;
  std::unique_ptr<Model> model_;
  Optimiser optimiser_;
  data::ElasticSamples samples_;
  std::uint64_t steps_done_ = 0;
  Phase phase_ = Phase::training;
  record::Metrics metrics_;
  std::vector<float> common_statistics_;  // of all members, at the last evaluation
  data::ElasticSamples::Used last_used_;

  std::vector<std::span<float>> gradients_;  // one for each tensor
  std::vector<float> statistics_before_;     // the step: one that is poisoned changes nothing
  std::vector<float> own_statistics_;        // what is averaged
  std::vector<float> scores_;  // loss, correct ones, count; of segments, counts by class
  std::vector<std::span<float>> buffers_;
  data::Batch batch_;
};

}  // namespace gradwire::train
