// Worker: one rank's model and rows, and what it does in a step. For one thread; the experiment
// must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "convex/experiment.h"
#include "gradwire/method/method.h"
#include "record/step_records.h"

namespace gradwire::convex {

struct WorkerOptions {
  std::size_t rank = 0;
  std::size_t batch = 0;  // rows drawn for a step; 0: all
  std::uint64_t seed = 1;
  double learning_rate = 1;
};

class Worker {
 public:
  // Begins at zero, or as near to it as R allows.
  Worker(const Experiment& experiment, const WorkerOptions& options);

  // A step of all ranks; the first is step 0. The counts are this rank's own.
  record::StepRecord step(Method& method, std::uint64_t step);

  std::span<const double> x() const { return x_; }
  void set_x(std::span<const double> x);
  double learning_rate() const { return options_.learning_rate; }
  void set_learning_rate(double rate) { options_.learning_rate = rate; }
  // |x^t - x^(t-1)|^2 of the last step that moved x.
  double moved_squared() const { return moved_squared_; }
  void set_moved_squared(double moved_squared) { moved_squared_ = moved_squared; }

 private:
  void take_step(Method& method, std::uint64_t step, record::StepRecord& record);
  void draw_batch(std::uint64_t step);
  // Of the step's batch, in 32-bit floats.
  void find_gradient(std::span<const double> x, std::span<float> gradient);
  // Methods see parameters as floats; those that compare gradients at two of them get both there.
  std::span<const double> rounded(std::span<const float> x);
  void move(MethodTraits::Output output);

  const Experiment& experiment_;
  const data::Shard& shard_;
  WorkerOptions options_;
  double moved_squared_ = 0;
  std::vector<double> x_;            // in floats, short steps would be lost in rounding
  std::vector<float> x_float_;       // as methods see it
  std::vector<float> gradient_;      // and then what the method made of it
  std::vector<float> old_gradient_;  // at other parameters, for methods that ask
  std::vector<std::uint32_t> batch_;
  std::vector<double> x_rounded_;
  std::vector<double> gradient_exact_;
};

}  // namespace gradwire::convex
