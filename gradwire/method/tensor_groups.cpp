#include "gradwire/method/tensor_groups.h"

#include <algorithm>

namespace gradwire {

TensorGroups::TensorGroups(std::span<const MethodTensor> tensors, std::size_t elements_min) {
  std::size_t elements = elements_min;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (elements >= elements_min) {
      groups_.push_back({.first = i});
      elements = 0;
    }
    elements += tensors[i].elements();
    ++groups_.back().count;
    group_of_.push_back(groups_.size() - 1);
  }
}

std::size_t group_elements_for(std::size_t model_elements) {
  constexpr std::size_t kGroups = 4;
  constexpr std::size_t kLeast = std::size_t{1} << 18;
  return std::clamp(model_elements / kGroups, kLeast, kGroupElementsMax);
}

}  // namespace gradwire
