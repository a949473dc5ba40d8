#include "gradwire/method/lgc/dense_layers.h"

#include <algorithm>
#include <iterator>

#include "gradwire/method/step_order.h"

namespace gradwire {

DenseLayers::DenseLayers(Communicator& communicator, const std::vector<MethodTensor>& tensors,
                         const MethodOptions& options)
    : tensors_(tensors.size()), joined_(total_elements(tensors)) {
  if (joined_.empty()) return;
  method_ =
      make_method(communicator, {{"dense layers", {joined_.size()}}}, "natural | entropy", options);
}

void DenseLayers::begin(const StepContext& context) {
  gradients_.clear();
  // The method has one tensor, and no memory that would follow a learning rate.
  StepContext joined = context;
  joined.learning_rates = {};
  if (method_) method_->begin(joined);
}

void DenseLayers::submit(std::span<float> gradient) {
  gradients_.push_back(gradient);
  if (!method_ || gradients_.size() < tensors_) return;
  auto end = joined_.begin();
  for (const std::span<float> one : gradients_) end = std::ranges::copy(one, end).out;
  method_->submit(0, joined_);
}

MethodReport DenseLayers::finish() {
  if (!method_) return {};
  const MethodReport report = method_->finish();
  auto begin = joined_.begin();
  for (const std::span<float> one : gradients_) {
    begin = std::ranges::copy_n(begin, std::ssize(one), one.begin()).in;
  }
  return report;
}

}  // namespace gradwire
