// For tests: training in one process, one thread a rank. Every rank has the whole model as one
// tensor and takes x -= gamma out (x -= out where a method gives updates) step by step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gradwire/collective/test_support.h"
#include "gradwire/method/method.h"

namespace gradwire {

using Model = std::vector<float>;

// The gradient of a rank at x; the step says which samples.
using GradientOfRank =
    std::function<Model(std::size_t rank, std::span<const float> x, std::uint64_t step)>;

// What one rank knows after a step.
struct TrainingStep {
  std::size_t rank = 0;
  std::uint64_t step = 0;
  const Model& gradient;  // as it was submitted
  const Model& output;
  const Model& x;  // after the step
  const Method& method;
};

struct Training {
  std::string spec;
  std::size_t ranks = 4;
  std::size_t steps = 0;
  std::vector<double> learning_rates;  // by step; the last one holds from then on
  Model start;
  GradientOfRank gradient;

  GradientOfRank old_gradient = {};  // empty: as `gradient`
  std::vector<float> weights = {};   // by rank; empty: all are 1
  MethodOptions options = {};
  bool ends = false;  // the method is told that the last step is the last
  std::function<void(Model& x)> after_step = {};          // such as a prox
  std::function<void(const TrainingStep&)> on_step = {};  // on the rank's own thread
};

struct TrainingResult {
  std::vector<Model> iterates;                     // of rank 0, the start included
  std::vector<MethodState> states;                 // by rank, at the end
  std::vector<std::vector<MethodReport>> reports;  // by rank and step

  // Of all ranks, in the steps from `first` to before `last`.
  std::size_t uploads(std::size_t first, std::size_t last) const {
    std::size_t sum = 0;
    for (const auto& of_rank : reports) {
      for (std::size_t step = first; step < last; ++step) sum += of_rank[step].uploads;
    }
    return sum;
  }
};

// One rank's part of it.
class TrainingRank {
 public:
  TrainingRank(Communicator& communicator, const Training& training)
      : training_(training),
        rank_(communicator.rank()),
        x_(training.start),
        method_(make_method(communicator, {{"model", {training.start.size()}}}, training.spec,
                            training.options)) {}

  const Model& x() const { return x_; }
  const Method& method() const { return *method_; }

  MethodReport step(std::uint64_t step) {
    const auto& rates = training_.learning_rates;
    const double rate = rates[std::min<std::size_t>(step, rates.size() - 1)];
    const Model gradient = training_.gradient(rank_, x_, step);
    if (method_->input(step) == Method::Input::parameters) return own_step(step, rate, gradient);
    Model output = gradient;
    const MethodReport report = run(step, rate, output);
    const bool is_update = method_->traits().output == MethodTraits::Output::update;
    const float factor = is_update ? 1.0F : static_cast<float>(rate);
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] -= factor * output[i];
    if (training_.after_step) training_.after_step(x_);
    if (training_.on_step) training_.on_step({rank_, step, gradient, output, x_, *method_});
    return report;
  }

  // Everything that the next step depends on.
  void load(const Model& x, const MethodState& state) {
    x_ = x;
    method_->load(state);
  }

 private:
  // A step of this rank's own SGD. The method has the parameters afterwards.
  MethodReport own_step(std::uint64_t step, double rate, const Model& gradient) {
    const std::span<const float> parameters[] = {x_};
    method_->begin({.step = step,
                    .learning_rate = rate,
                    .weight = training_.weights.empty() ? 1.0F : training_.weights[rank_],
                    .parameters = parameters,
                    .is_last = training_.ends && step + 1 == training_.steps});
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] -= static_cast<float>(rate) * gradient[i];
    if (training_.after_step) training_.after_step(x_);
    method_->submit(0, x_);
    const MethodReport report = method_->finish();
    if (training_.on_step) training_.on_step({rank_, step, gradient, x_, x_, *method_});
    return report;
  }

  MethodReport run(std::uint64_t step, double rate, Model& output) {
    const std::span<const float> parameters[] = {x_};
    const std::span<float> gradients[] = {output};
    const GradientOfRank& at = training_.old_gradient ? training_.old_gradient : training_.gradient;
    return method_->run(
        {.step = step,
         .learning_rate = rate,
         .weight = training_.weights.empty() ? 1.0F : training_.weights[rank_],
         .parameters = parameters,
         .gradient_at = [&](std::span<const std::span<const float>> old,
                            const TakeGradient& take) { take(0, at(rank_, old[0], step)); }},
        gradients);
  }

  const Training& training_;
  const std::size_t rank_;
  Model x_;
  std::unique_ptr<Method> method_;
};

inline TrainingResult train(const Training& training) {
  TrainingResult result;
  result.iterates.push_back(training.start);
  result.states.resize(training.ranks);
  result.reports.resize(training.ranks);
  run_communicators(training.ranks, [&](Communicator& communicator) {
    TrainingRank rank(communicator, training);
    for (std::uint64_t step = 0; step < training.steps; ++step) {
      result.reports[communicator.rank()].push_back(rank.step(step));
      if (communicator.rank() == 0) result.iterates.push_back(rank.x());
    }
    result.states[communicator.rank()] = rank.method().save();
  });
  return result;
}

// A memory of the one tensor, as far as the rank has it: all other elements are zero.
inline Model memory_of(const MethodState& state, const std::string& name) {
  Model whole(state.tensors.at(0).shape.at(0));
  for (const StateArray& array : state.arrays) {
    if (array.memory != name) continue;
    std::copy(array.values.begin(), array.values.end(),
              whole.begin() + static_cast<std::ptrdiff_t>(array.first));
  }
  return whole;
}

}  // namespace gradwire
