// TensorGroups: which tensors of a method travel together. Tensors are put into groups in their
// order: a group ends with the tensor that brings it to the wanted size, so that it can leave while
// the gradients of others are computed. A value, the same on all ranks; for any thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gradwire/method/method.h"

namespace gradwire {

struct TensorGroup {
  std::size_t first = 0;  // index of a tensor
  std::size_t count = 0;

  std::size_t end() const { return first + count; }
};

class TensorGroups {
 public:
  // Every group but the last has at least `elements_min` elements.
  TensorGroups(std::span<const MethodTensor> tensors, std::size_t elements_min);

  std::size_t size() const { return groups_.size(); }
  const TensorGroup& operator[](std::size_t index) const { return groups_[index]; }
  auto begin() const { return groups_.begin(); }
  auto end() const { return groups_.end(); }

  // The index of the group that a tensor is in.
  std::size_t group_of(std::size_t tensor) const { return group_of_[tensor]; }

 private:
  std::vector<TensorGroup> groups_;
  std::vector<std::size_t> group_of_;  // by tensor
};

}  // namespace gradwire
