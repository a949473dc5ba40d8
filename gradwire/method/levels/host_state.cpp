#include "gradwire/method/levels/host_state.h"

#include <algorithm>
#include <utility>

namespace gradwire {
namespace {

// The part of a tensor; null if there is none.
const TensorPiece* find_part(std::span<const TensorPiece> parts,
                             const std::vector<MethodTensor>& tensors, const std::string& name) {
  const auto found = std::ranges::find(
      parts, name, [&](const TensorPiece& part) { return tensors[part.tensor].name; });
  return found == parts.end() ? nullptr : &*found;
}

std::vector<StateTensor> state_tensors(const std::vector<MethodTensor>& tensors) {
  std::vector<StateTensor> all;
  for (const auto& [name, shape] : tensors) all.push_back({name, shape});
  return all;
}

}  // namespace

void to_whole_tensors(MethodState& state, std::span<const TensorPiece> parts,
                      const std::vector<MethodTensor>& tensors) {
  for (StateArray& array : state.arrays) {
    if (const TensorPiece* const part = find_part(parts, tensors, array.tensor)) {
      array.first += part->first;
    }
  }
  state.tensors = state_tensors(tensors);
}

void to_parts(MethodState& state, std::span<const TensorPiece> parts,
              const std::vector<MethodTensor>& tensors) {
  std::vector<StateArray> arrays;
  for (StateArray& array : state.arrays) {
    const TensorPiece* const part = find_part(parts, tensors, array.tensor);
    if (part == nullptr) continue;
    if (part->elements == tensors[part->tensor].elements()) {
      arrays.push_back(std::move(array));
      continue;
    }
    const std::size_t first = std::max(array.first, part->first);
    const std::size_t end =
        std::min(array.first + array.values.size(), part->first + part->elements);
    if (first >= end) continue;
    const auto at = array.values.begin() + static_cast<std::ptrdiff_t>(first - array.first);
    array.values = std::vector<float>(at, at + static_cast<std::ptrdiff_t>(end - first));
    array.first = first - part->first;
    arrays.push_back(std::move(array));
  }
  state.arrays = std::move(arrays);
}

}  // namespace gradwire
