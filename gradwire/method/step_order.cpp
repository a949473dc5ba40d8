#include "gradwire/method/step_order.h"

#include <cmath>
#include <set>
#include <string>

#include "gradwire/core/error.h"

namespace gradwire {

StepOrder::StepOrder(const std::vector<MethodTensor>& tensors) : tensors_(tensors) {
  std::set<std::string> names;
  for (const MethodTensor& tensor : tensors) {
    if (names.insert(tensor.name).second) continue;
    throw Error("two tensors are called '" + tensor.name + "': names tell their memories apart");
  }
}

void StepOrder::check_begin(const StepContext& context) const {
  if (is_begun_) throw Error("a step was begun before the last one was finished");
  if (!std::isfinite(context.weight) || context.weight < 0) {
    throw Error("the weight of a worker must be a number from 0 on");
  }
  const std::size_t rates = context.learning_rates.size();
  if (rates != 0 && rates != tensors_.size()) {
    throw Error("a step has " + std::to_string(rates) + " learning rates for " +
                std::to_string(tensors_.size()) + " tensors: give one for each, or none");
  }
}

void StepOrder::check_between_steps(const char* call) const {
  if (!is_begun_) return;
  throw Error(std::string(call) + " was called in the middle of a step, after " +
              std::to_string(submitted_) + " of " + std::to_string(tensors_.size()) +
              " tensors: finish() the step first");
}

void StepOrder::begin() {
  submitted_ = 0;
  is_begun_ = true;
}

void StepOrder::submit(std::size_t tensor, std::span<const float> gradient) {
  if (!is_begun_) throw Error("a gradient was submitted before its step was begun");
  if (tensor != submitted_ || tensor >= tensors_.size()) {
    throw Error("tensors are submitted in their order: expected number " +
                std::to_string(submitted_) + " of " + std::to_string(tensors_.size()) + ", got " +
                std::to_string(tensor));
  }
  if (gradient.size() != tensors_[tensor].elements()) {
    throw Error("tensor '" + tensors_[tensor].name + "' has " +
                std::to_string(tensors_[tensor].elements()) + " elements, but its gradient has " +
                std::to_string(gradient.size()));
  }
  ++submitted_;
}

void StepOrder::check_finish() const {
  if (!is_begun_) throw Error("there is no step to finish");
  if (submitted_ == tensors_.size()) return;
  throw Error("a step cannot be finished with " + std::to_string(submitted_) + " of " +
              std::to_string(tensors_.size()) + " tensors submitted");
}

std::size_t total_elements(const std::vector<MethodTensor>& tensors) {
  std::size_t elements = 0;
  for (const MethodTensor& tensor : tensors) elements += tensor.elements();
  return elements;
}

void check_rescale(float factor) {
  if (std::isfinite(factor) && factor > 0) return;
  throw Error("gradients cannot be rescaled by " + std::to_string(factor));
}

}  // namespace gradwire
