// The order in which a method is called: begin, every tensor in its turn, finish. Every mistake is
// an Error that says what was expected. For all methods alike.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gradwire/method/method.h"

namespace gradwire {

class StepOrder {
 public:
  // The tensors must stay. Refuses two of the same name.
  explicit StepOrder(const std::vector<MethodTensor>& tensors);

  // Throws Error in the middle of a step: `call`, such as "save()", is for the time between steps.
  void check_between_steps(const char* call) const;
  std::size_t submitted() const { return submitted_; }

  // Whether a step may begin with this context, and that it has.
  void check_begin(const StepContext& context) const;
  void begin();

  void submit(std::size_t tensor, std::span<const float> gradient);
  // All tensors were submitted.
  void check_finish() const;
  // The step is over, well or not.
  void end() { is_begun_ = false; }

 private:
  const std::vector<MethodTensor>& tensors_;
  std::size_t submitted_ = 0;
  bool is_begun_ = false;
};

std::size_t total_elements(const std::vector<MethodTensor>& tensors);

// By how much gradients may be rescaled: throws Error for what is no factor above 0.
void check_rescale(float factor);

}  // namespace gradwire
