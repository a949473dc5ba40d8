// LayerWatch: what this rank's planned layers look like: their gradients, accumulated over the
// steps before a plan. For one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gradwire/method/method.h"
#include "gradwire/method/state.h"

namespace gradwire {

class LayerWatch {
 public:
  // `layers` are the indices of the tensors that are looked at. The tensors must stay.
  LayerWatch(const std::vector<MethodTensor>& tensors, std::vector<std::size_t> layers,
             std::size_t window);

  const std::vector<std::size_t>& layers() const { return layers_; }
  bool is_full() const { return steps_ == window_; }
  std::size_t window() const { return window_; }

  // Before the gradient of a step is changed; then once for the step.
  void add(std::size_t tensor, std::span<const float> gradient, float weight);
  void end_step() { ++steps_; }
  void clear();
  void rescale(float factor);

  // What would be compressed now: the mean of the accumulated gradients, and the errors of `state`
  // as this step adds them to its gradients. By layer.
  std::vector<std::vector<float>> with_errors(const MethodState& state,
                                              const StepContext& context) const;

  // Of the mean of the accumulated gradients alone, by layer.
  std::vector<double> norms() const;

  void save(MethodState& state) const;
  // Throws Error where something is missing; load() takes it for granted.
  void check(const MethodState& state) const;
  void load(const MethodState& state);
  static std::uint64_t saved_steps(const MethodState& state);
  std::size_t memory_bytes() const;

 private:
  const std::vector<MethodTensor>& tensors_;
  const std::vector<std::size_t> layers_;
  const std::size_t window_;
  std::vector<std::size_t> layer_of_;     // by tensor; layers_.size() if it is none
  std::vector<std::vector<float>> sums_;  // by layer
  std::size_t steps_ = 0;
};

}  // namespace gradwire
