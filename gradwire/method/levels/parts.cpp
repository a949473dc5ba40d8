#include "gradwire/method/levels/parts.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace gradwire {
namespace {

// Smaller tensors are not cut, since every part has a header in every message.
constexpr std::size_t kCutElementsMin = 4096;

using Parts = std::vector<std::vector<TensorPiece>>;

TensorPiece whole(std::span<const MethodTensor> tensors, std::size_t tensor) {
  return {.tensor = tensor, .first = 0, .elements = tensors[tensor].elements()};
}

// The first dimension is cut where it is long enough, otherwise the elements are.
std::size_t elements_of_row(const MethodTensor& tensor, std::size_t places) {
  const bool has_rows = tensor.shape.size() > 1 && tensor.shape.front() >= places;
  return has_rows ? tensor.elements() / tensor.shape.front() : 1;
}

void cut_rows(std::span<const MethodTensor> tensors, Parts& parts) {
  const std::size_t places = parts.size();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].elements() < kCutElementsMin) {
      parts[i % places].push_back(whole(tensors, i));
      continue;
    }
    const std::size_t row = elements_of_row(tensors[i], places);
    const std::size_t rows = tensors[i].elements() / row;
    for (std::size_t place = 0; place < places; ++place) {
      const std::size_t first = place * rows / places;
      const std::size_t end = (place + 1) * rows / places;
      parts[place].push_back({.tensor = i, .first = first * row, .elements = (end - first) * row});
    }
  }
}

// Each tensor, the largest first, goes to the place with the fewest elements.
void deal_tensors(std::span<const MethodTensor> tensors, Parts& parts) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](std::size_t i) { return tensors[i].elements(); });
  std::vector<std::size_t> elements(parts.size());
  for (const std::size_t tensor : order) {
    const auto least =
        static_cast<std::size_t>(std::ranges::min_element(elements) - elements.begin());
    parts[least].push_back(whole(tensors, tensor));
    elements[least] += tensors[tensor].elements();
  }
  for (auto& part : parts) std::ranges::sort(part, {}, &TensorPiece::tensor);
}

}  // namespace

std::vector<std::vector<TensorPiece>> cut_for_hosts(std::span<const MethodTensor> tensors,
                                                    HostParts how, std::size_t places) {
  Parts parts(how == HostParts::one_rank ? 1 : places);
  if (how == HostParts::rows) {
    cut_rows(tensors, parts);
  } else {
    deal_tensors(tensors, parts);
  }
  return parts;
}

std::size_t sending_places(std::span<const MethodTensor> tensors, const Codec* up,
                           std::size_t part_bytes_min, std::size_t places) {
  if (up == nullptr || part_bytes_min == 0) return places;
  std::size_t bytes = 0;
  for (const MethodTensor& tensor : tensors) bytes += up->payload_bytes_max(tensor.elements());
  return std::clamp<std::size_t>(bytes / part_bytes_min, 1, places);
}

std::vector<TensorSize> sizes_of(std::span<const MethodTensor> tensors) {
  std::vector<TensorSize> sizes;
  for (const MethodTensor& tensor : tensors) sizes.push_back({tensor.name, tensor.elements()});
  return sizes;
}

std::vector<std::size_t> shape_of_part(const MethodTensor& tensor, const TensorPiece& part) {
  if (part.elements == tensor.elements()) return tensor.shape;
  if (tensor.shape.size() < 2) return {part.elements};
  const std::size_t row = tensor.elements() / tensor.shape.front();
  if (part.first % row != 0 || part.elements % row != 0) return {part.elements};
  std::vector<std::size_t> shape = tensor.shape;
  shape.front() = part.elements / row;
  return shape;
}

}  // namespace gradwire
