#include "gradwire/method/state.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <tuple>

#include "gradwire/core/check.h"
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

// --- Resharing -----------------------------------------------------------------------------------

[[noreturn]] void refuse(std::size_t old_rank, const std::string& why) {
  throw Error("the saved state of rank " + std::to_string(old_rank) + ' ' + why);
}

void check_same_run(std::span<const MethodState> old) {
  if (old.empty()) throw Error("there is no saved state to go on from");
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (old[i].rank != i || old[i].ranks != old.size()) {
      refuse(i, "is that of rank " + std::to_string(old[i].rank) + " of " +
                    std::to_string(old[i].ranks) + ", among states of " +
                    std::to_string(old.size()) + " ranks");
    }
    if (old[i].spec != old[0].spec) {
      refuse(i, "is of " + old[i].spec + ", that of rank 0 of " + old[0].spec);
    }
    const std::string differing = differences(old[i].tensors, old[0].tensors);
    if (!differing.empty()) refuse(i, "is not of the tensors of rank 0: " + differing);
  }
}

// What tells the arrays of one rank apart.
using ArrayKey = std::tuple<std::string, std::string, std::size_t>;
using ArraysByKey = std::map<ArrayKey, const StateArray*>;

// All but the owners': those that every rank has.
ArraysByKey common_arrays(const MethodState& state) {
  ArraysByKey arrays;
  for (const StateArray& array : state.arrays) {
    if (array.sharing == Sharing::owner) continue;
    arrays.emplace(ArrayKey(array.memory, array.tensor, array.first), &array);
  }
  return arrays;
}

std::string quoted(const StateArray& array) {
  return "memory '" + array.memory + "' of tensor '" + array.tensor + '\'';
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return std::ranges::equal(std::as_bytes(a), std::as_bytes(b));
}

void check_fit(const ArraysByKey& first, const ArraysByKey& other, std::size_t old_rank) {
  for (const auto& [key, array] : other) {
    if (!first.contains(key)) refuse(0, "has no " + quoted(*array));
  }
  for (const auto& [key, array] : first) {
    const auto found = other.find(key);
    if (found == other.end()) refuse(old_rank, "has no " + quoted(*array));
    const StateArray& same = *found->second;
    if (same.sharing != array->sharing || same.values.size() != array->values.size()) {
      refuse(old_rank, "has another length or kind of " + quoted(*array) +
                           " than rank 0: " + std::to_string(same.values.size()) + " values, not " +
                           std::to_string(array->values.size()));
    }
    if (array->sharing == Sharing::replicated && !same_bits(same.values, array->values)) {
      refuse(old_rank, "has other values in " + quoted(*array) +
                           " than rank 0: were they saved at the same step?");
    }
  }
}

// In double, added in the order of the ranks and rounded once.
std::vector<float> mean_of(std::span<const ArraysByKey> old, const StateArray& array) {
  std::vector<double> sum(array.values.size());
  for (const ArraysByKey& arrays : old) {
    const StateArray& one = *arrays.at(ArrayKey(array.memory, array.tensor, array.first));
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += double{one.values[i]};
  }
  std::vector<float> mean(sum.size());
  const auto ranks = static_cast<double>(old.size());
  for (std::size_t i = 0; i < sum.size(); ++i) mean[i] = static_cast<float>(sum[i] / ranks);
  return mean;
}

void append_owned(std::span<const MethodState> old, std::vector<StateArray>& arrays) {
  const auto owners_from = static_cast<std::ptrdiff_t>(arrays.size());
  for (const MethodState& state : old) {
    std::ranges::copy_if(state.arrays, std::back_inserter(arrays),
                         [](const StateArray& array) { return array.sharing == Sharing::owner; });
  }
  std::stable_sort(arrays.begin() + owners_from, arrays.end(),
                   [](const StateArray& a, const StateArray& b) {
                     return std::tie(a.tensor, a.first) < std::tie(b.tensor, b.first);
                   });
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

MethodState reshare(std::span<const MethodState> old, std::size_t rank, std::size_t ranks) {
  GW_CHECK(rank < ranks);
  check_same_run(old);
  std::vector<ArraysByKey> common;
  for (const MethodState& state : old) common.push_back(common_arrays(state));
  for (std::size_t i = 1; i < old.size(); ++i) check_fit(common[0], common[i], i);

  const bool is_same_number = old.size() == ranks;
  const MethodState& from = old[is_same_number ? rank : 0];
  MethodState state{.spec = from.spec,
                    .topology = from.topology,
                    .rank = rank,
                    .ranks = ranks,
                    .tensors = from.tensors,
                    .arrays = {},
                    .numbers = from.numbers,
                    .blobs = {},
                    .is_reshared = true};
  for (const StateArray& array : from.arrays) {
    if (array.sharing == Sharing::owner) continue;
    state.arrays.push_back(array);
    if (array.sharing == Sharing::worker && !is_same_number) {
      state.arrays.back().values = mean_of(common, array);
    }
  }
  append_owned(old, state.arrays);
  return state;
}

}  // namespace gradwire
