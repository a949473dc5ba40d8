#include "gradwire/method/levels/old_gradient.h"

#include <algorithm>
#include <utility>

#include "gradwire/method/levels/parts.h"

namespace gradwire {

OldGradient::OldGradient(HostGroups& groups, const std::vector<MethodTensor>& tensors)
    : sum_(groups, {.tensors = sizes_of(tensors),
                    .parts = cut_for_hosts(tensors, HostParts::one_rank, 1),
                    .group_ends = {tensors.size()}}) {
  for (const MethodTensor& tensor : tensors) {
    parameters_.emplace_back(tensor.elements());
    gradients_.emplace_back(tensor.elements());
  }
  parameter_spans_.assign(parameters_.begin(), parameters_.end());
  gradient_spans_.assign(gradients_.begin(), gradients_.end());
  model_.assign(parameters_.begin(), parameters_.end());
}

void OldGradient::begin(std::uint64_t step, float weight, GradientAt own) {
  step_ = step;
  weight_ = weight;
  own_ = std::move(own);
}

// The facts say whether somebody asks, and the parts have the model.
bool OldGradient::is_asked(bool is_asking) {
  return sum_.gather(step_, {.uploads = is_asking ? 1u : 0u}, parameter_spans_).uploads > 0;
}

void OldGradient::add_up(std::span<const std::span<const float>> parameters) {
  own_(parameters, [&](std::size_t tensor, std::span<const float> gradient) {
    std::ranges::copy(gradient, gradients_[tensor].begin());
  });
  sum_.start(0, step_, weight_, gradient_spans_);
  sum_.wait(0);
}

void OldGradient::ask(std::span<const std::span<const float>> parameters,
                      const TakeGradient& take) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    std::ranges::copy(parameters[i], sum_.part(i).begin());
  }
  is_asked(true);
  add_up(model_);
  for (std::size_t i = 0; i < parameters.size(); ++i) take(i, sum_.part(i));
}

void OldGradient::release() { is_asked(false); }

void OldGradient::serve() {
  while (is_asked(false)) add_up(model_);
}

}  // namespace gradwire
