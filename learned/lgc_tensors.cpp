#include "learned/lgc_tensors.h"

#include "gradwire/method/step_order.h"

namespace gradwire::learned {
namespace {

constexpr std::size_t kElementsLeast = 256;
constexpr std::size_t kFirstLayerPart = 10;  // of all elements, one in so many

bool is_layer(const MethodTensor& tensor) { return tensor.shape.size() >= 2; }

}  // namespace

std::vector<Way> ways_of(const std::vector<MethodTensor>& tensors) {
  std::vector<Way> ways(tensors.size(), Way::dense);
  std::vector<std::size_t> layers;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!is_layer(tensors[i])) continue;
    layers.push_back(i);
    if (tensors[i].elements() >= kElementsLeast) ways[i] = Way::coded;
  }
  if (layers.size() < 2) return ways;
  if (ways[layers.front()] == Way::coded) ways[layers.front()] = Way::last;
  const std::size_t first = layers.back();
  if (tensors[first].elements() * kFirstLayerPart <= total_elements(tensors)) {
    ways[first] = Way::dense;
  }
  return ways;
}

}  // namespace gradwire::learned
