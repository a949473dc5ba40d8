#include "gradwire/method/state.h"

#include <algorithm>
#include <tuple>

#include "gradwire/core/error.h"

namespace gradwire {
namespace {

// "[3, 4]"
std::string shape_text(const std::vector<std::size_t>& shape) {
  std::string text = "[";
  for (const std::size_t length : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(length);
  }
  return text + ']';
}

std::map<std::string, const StateTensor*> by_name(std::span<const StateTensor> tensors) {
  std::map<std::string, const StateTensor*> found;
  for (const StateTensor& tensor : tensors) found.emplace(tensor.name, &tensor);
  return found;
}

// Of lists that hold the same tensors; empty if they are equal.
std::string difference_of_order(std::span<const StateTensor> ours,
                                std::span<const StateTensor> saved) {
  if (ours.size() != saved.size()) {
    return std::to_string(ours.size()) + " tensors are here, " + std::to_string(saved.size()) +
           " were saved";
  }
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (ours[i] == saved[i]) continue;
    return "the order: tensor " + std::to_string(i) + " is '" + ours[i].name +
           "', and was saved as '" + saved[i].name + '\'';
  }
  return "";
}

}  // namespace

std::string differences(std::span<const StateTensor> ours, std::span<const StateTensor> saved) {
  std::string text;
  const auto add = [&text](const std::string& difference) {
    if (!text.empty()) text += "; ";
    text += difference;
  };
  const auto saved_by_name = by_name(saved);
  for (const StateTensor& tensor : ours) {
    const auto found = saved_by_name.find(tensor.name);
    if (found == saved_by_name.end()) {
      add("tensor '" + tensor.name + "' was not saved");
    } else if (found->second->shape != tensor.shape) {
      add("tensor '" + tensor.name + "' has shape " + shape_text(tensor.shape) + ", saved with " +
          shape_text(found->second->shape));
    }
  }
  const auto ours_by_name = by_name(ours);
  for (const StateTensor& tensor : saved) {
    if (!ours_by_name.contains(tensor.name)) add("saved tensor '" + tensor.name + "' is not here");
  }
  return text.empty() ? difference_of_order(ours, saved) : text;
}

}  // namespace gradwire
