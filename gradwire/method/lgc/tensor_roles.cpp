#include "gradwire/method/lgc/tensor_roles.h"

#include "gradwire/method/step_order.h"

namespace gradwire {
namespace {

constexpr std::size_t kElementsLeast = 256;
constexpr std::size_t kFirstLayerPart = 10;  // of all elements, one in so many

bool is_layer(const MethodTensor& tensor) { return tensor.shape.size() >= 2; }

}  // namespace

std::vector<TensorRole> tensor_roles(const std::vector<MethodTensor>& tensors) {
  std::vector<TensorRole> roles(tensors.size(), TensorRole::dense);
  std::vector<std::size_t> layers;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!is_layer(tensors[i])) continue;
    layers.push_back(i);
    if (tensors[i].elements() >= kElementsLeast) roles[i] = TensorRole::coded;
  }
  if (layers.size() < 2) return roles;
  if (roles[layers.front()] == TensorRole::coded) roles[layers.front()] = TensorRole::last;
  const std::size_t first = layers.back();
  if (tensors[first].elements() * kFirstLayerPart <= total_elements(tensors)) {
    roles[first] = TensorRole::dense;
  }
  return roles;
}

}  // namespace gradwire
