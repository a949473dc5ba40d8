#include "gradwire/method/state.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <tuple>
#include <utility>

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
  if (old.empty()) throw Error("there is no saved state to load");
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

bool is_of_hosts(const MethodState& state) {
  return state.topology.find(kBetweenHosts) != std::string::npos;
}

// One of every array that some rank has.
std::vector<StateArray> arrays_of_all(std::span<const MethodState> old) {
  std::vector<StateArray> all;
  std::map<ArrayKey, bool> has;
  for (const MethodState& state : old) {
    for (const auto& [key, array] : common_arrays(state)) {
      if (std::exchange(has[key], true)) continue;
      all.push_back(*array);
    }
  }
  return all;
}

// Checks that an old rank has the same arrays as another one, the model. A dedicated server has
// none of the workers' arrays; of hosts, each rank has those of its part.
void check_arrays(const MethodState& model, const MethodState& other) {
  const ArraysByKey of_model = common_arrays(model);
  const ArraysByKey of_other = common_arrays(other);
  const std::string than_model = " than rank " + std::to_string(model.rank);
  for (const auto& [key, array] : of_other) {
    if (!is_of_hosts(model) && !of_model.contains(key)) {
      refuse(model.rank, "has no " + quoted(*array));
    }
  }
  for (const auto& [key, array] : of_model) {
    if (other.only_averages && array->sharing == Sharing::worker) continue;
    const auto found = of_other.find(key);
    if (found == of_other.end() && is_of_hosts(model)) continue;
    if (found == of_other.end()) refuse(other.rank, "has no " + quoted(*array));
    const StateArray& same = *found->second;
    if (same.sharing != array->sharing || same.values.size() != array->values.size()) {
      refuse(other.rank, "has another length or kind of " + quoted(*array) + than_model + ": " +
                             std::to_string(same.values.size()) + " values, not " +
                             std::to_string(array->values.size()));
    }
    if (array->sharing == Sharing::replicated && !same_bits(same.values, array->values)) {
      refuse(other.rank, "has other values in " + quoted(*array) + than_model +
                             ": were they saved at the same step?");
    }
  }
}

// Of the workers that have it. In double, added in the order of the ranks and rounded once.
std::vector<float> mean_of(std::span<const ArraysByKey> workers, const StateArray& array) {
  const ArrayKey key(array.memory, array.tensor, array.first);
  std::vector<double> sum(array.values.size());
  double count = 0;
  for (const ArraysByKey& arrays : workers) {
    const auto found = arrays.find(key);
    if (found == arrays.end()) continue;
    const std::vector<float>& values = found->second->values;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += double{values[i]};
    ++count;
  }
  std::vector<float> mean(sum.size());
  for (std::size_t i = 0; i < sum.size(); ++i) mean[i] = static_cast<float>(sum[i] / count);
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

const StateArray* find_array(const MethodState& state, std::string_view memory,
                             std::string_view tensor) {
  const auto found = std::ranges::find_if(state.arrays, [&](const StateArray& array) {
    return array.memory == memory && array.tensor == tensor && array.first == 0;
  });
  return found == state.arrays.end() ? nullptr : &*found;
}

const StateArray& whole_array(const MethodState& state, const std::string& memory,
                              const std::string& tensor, std::size_t elements) {
  const StateArray* const found = find_array(state, memory, tensor);
  if (found == nullptr) {
    throw Error("the saved state has no '" + memory + "' of tensor '" + tensor + '\'');
  }
  if (found->values.size() != elements) {
    throw Error("the saved state has " + std::to_string(found->values.size()) + " values of '" +
                memory + "' of tensor '" + tensor + "', not " + std::to_string(elements));
  }
  return *found;
}

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

void check_state_fits(const MethodState& ours, const MethodState& saved) {
  std::string list;
  const auto add = [&list](const std::string& what) { list += (list.empty() ? "" : "; ") + what; };
  const auto compare = [&](const char* what, const std::string& here, const std::string& there) {
    if (here != there) add(std::string(what) + " is '" + here + "', saved was '" + there + "'");
  };
  compare("the method", ours.spec, saved.spec);
  compare("the topology", ours.topology, saved.topology);
  compare("this rank", std::to_string(ours.rank) + " of " + std::to_string(ours.ranks),
          std::to_string(saved.rank) + " of " + std::to_string(saved.ranks));
  if (ours.only_averages != saved.only_averages) {
    add(std::string("this rank ") + (ours.only_averages ? "only averages" : "gives gradients") +
        ", the saved one " + (saved.only_averages ? "only averaged" : "gave gradients"));
  }
  if (const std::string tensors = differences(ours.tensors, saved.tensors); !tensors.empty()) {
    add(tensors);
  }
  if (!list.empty()) throw Error("the saved state does not fit: " + list);
}

MethodState reshare(std::span<const MethodState> old, std::size_t rank, std::size_t ranks) {
  if (rank >= ranks) {
    throw Error("there is no rank " + std::to_string(rank) + " among " + std::to_string(ranks) +
                " to make a state for: ranks are counted from 0");
  }
  check_same_run(old);
  const auto first_worker = std::ranges::find(old, false, &MethodState::only_averages);
  const MethodState& model = first_worker != old.end() ? *first_worker : old.front();
  std::vector<ArraysByKey> workers;
  for (const MethodState& state : old) {
    check_arrays(model, state);
    if (!state.only_averages) workers.push_back(common_arrays(state));
  }

  // Of hosts, no rank knows which of the old ones had its part.
  const bool keeps_own = old.size() == ranks && !old[rank].only_averages && !is_of_hosts(model);
  const MethodState& from = keeps_own ? old[rank] : model;
  MethodState state{.spec = from.spec,
                    .topology = from.topology,
                    .rank = rank,
                    .ranks = ranks,
                    .tensors = from.tensors,
                    .arrays = {},
                    .numbers = from.numbers,
                    .blobs = {},
                    .is_reshared = true,
                    .only_averages = false};
  const std::vector<StateArray> all = arrays_of_all(old);
  for (const StateArray& array : is_of_hosts(model) ? all : from.arrays) {
    if (array.sharing == Sharing::owner) continue;
    state.arrays.push_back(array);
    if (array.sharing == Sharing::worker && !keeps_own) {
      state.arrays.back().values = mean_of(workers, array);
    }
  }
  append_owned(old, state.arrays);
  return state;
}

}  // namespace gradwire
