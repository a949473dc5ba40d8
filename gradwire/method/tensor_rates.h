// TensorRates: the learning rates of some tensors of a method, for a method inside it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gradwire/method/method.h"

namespace gradwire {

class TensorRates {
 public:
  // The context of a method that has only these tensors. It is valid until the next call.
  StepContext select(const StepContext& context, std::span<const std::size_t> tensors) {
    rates_.clear();
    if (!context.learning_rates.empty()) {
      for (const std::size_t tensor : tensors) rates_.push_back(context.learning_rates[tensor]);
    }
    StepContext selected = context;
    selected.learning_rates = rates_;
    return selected;
  }

 private:
  std::vector<double> rates_;
};

}  // namespace gradwire
