// Learner: one rank's model and samples, and what it does in a step. Gradients are handed to the
// method while the backward pass goes on, so that the exchange overlaps with it. For one thread;
// the task must outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "data/batch_source.h"
#include "data/shared_sampler.h"
#include "gradwire/method/method.h"
#include "session/rank/trainee.h"
#include "train/model.h"
#include "train/optimiser.h"
#include "train/task.h"

namespace gradwire::train {

class Learner {
 public:
  // `traits` are those of the method that its steps will have.
  Learner(const Task& task, std::size_t rank, std::uint64_t steps, const MethodTraits& traits);

  Model& model() { return *model_; }
  Optimiser& optimiser() { return optimiser_; }
  // As a method takes them.
  std::vector<MethodTensor> tensors() const;

  // Between exchanges this rank's parameters, and always its optimiser's memories, differ from
  // those of other ranks.
  bool is_local() const { return is_local_; }

  // The samples of all workers in a step, if they share its batch; their sum is the whole batch.
  void set_shares(std::span<const std::uint32_t> shares);

  // A step of all ranks; the first is step 0. `take_own`, if there is one, gets this rank's own
  // gradients in the order of the tensors, before the method has them.
  session::StepDone step(Method& method, std::uint64_t step, const TakeGradient& take_own = {});

  // |x^t - x^(t-1)|^2 of the last step that moved the model; only for methods that want parameters.
  double moved_squared() const { return moved_squared_; }
  void set_moved_squared(double moved_squared) { moved_squared_ = moved_squared; }

 private:
  class Submission;

  void take_step(Method& method, std::uint64_t step, const TakeGradient& take_own,
                 session::StepDone& done);
  // This rank's optimiser works on its own gradient, and the method on the parameters.
  void take_own_step(Method& method, std::uint64_t step, const TakeGradient& take_own,
                     session::StepDone& done);
  // Whether it leaves out a step of its own; they are counted from 0.
  bool is_away(std::uint64_t own_step) const;
  // Adds the gradient of all parts of the step's batch to the model's.
  Score learn(std::uint64_t step, const Model::Ready& ready);
  void find_old_gradient(std::uint64_t step, std::span<const std::span<const float>> at,
                         const TakeGradient& take);
  void move(const MethodTraits& traits, double rate);
  std::span<float> gradient(std::size_t parameter);

  const Task& task_;
  const std::size_t rank_;
  const std::uint64_t steps_;
  const bool is_local_;
  const RatePlan rates_;
  std::unique_ptr<Model> model_;
  Optimiser optimiser_;
  std::unique_ptr<data::BatchSource> sampler_;     // null: this rank has no samples
  data::SharedSampler* shared_sampler_ = nullptr;  // the same, if workers share batches
  std::span<const std::uint32_t> samples_;         // of the step
  data::Batch batch_;
  std::vector<std::span<const float>> parameters_;  // as a method takes them
  double moved_squared_ = 0;
  std::vector<float> statistics_before_;  // of the step: one that is poisoned changes nothing
  std::vector<float> kept_values_;        // while the model is elsewhere
  std::vector<float> kept_gradients_;
  std::vector<float> kept_statistics_;
};

}  // namespace gradwire::train
