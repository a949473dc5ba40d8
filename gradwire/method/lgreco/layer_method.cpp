#include "gradwire/method/lgreco/layer_method.h"

#include <algorithm>
#include <exception>
#include <map>
#include <ranges>

#include "gradwire/method/exchange_method.h"
#include "gradwire/method/powersgd/powersgd.h"
#include "gradwire/method/rate_unit.h"
#include "gradwire/method/rules.h"

namespace gradwire {
namespace {

constexpr std::size_t kCoded = 0;
constexpr std::size_t kLowRank = 1;
constexpr std::size_t kParts = 2;

// Which inner method a tensor goes to. Where all layers are of low rank, what is too small for that
// goes with them and saves an exchange; it never had an error that could be lost.
std::size_t part_for(const MethodTensor& tensor, const Candidate& choice, bool is_low_rank) {
  if (choice.family == Family::powersgd) return kLowRank;
  return is_low_rank && !is_planned(tensor) ? kLowRank : kCoded;
}

std::unique_ptr<Method> make_coded(Communicator& communicator,
                                   const std::vector<MethodTensor>& tensors,
                                   std::span<const Candidate* const> choices, bool has_memory,
                                   const MethodOptions& options) {
  MethodSetup setup;
  setup.spec = "codecs by layer";
  std::vector<bool> keeps_error;
  for (const Candidate* const choice : choices) {
    setup.codecs.each.push_back(choice->codec);
    keeps_error.push_back(choice->has_memory());
  }
  if (has_memory) {
    setup.kind = RuleKind::ported;
    setup.make_rule = [keeps_error](RuleWorkspace& workspace) {
      return make_ef_each_rule(workspace, keeps_error);
    };
  } else {
    setup.make_rule = make_direct_rule;
  }
  return make_exchange_method(communicator, tensors, setup, options);
}

std::unique_ptr<Method> make_low_rank(Communicator& communicator,
                                      const std::vector<MethodTensor>& tensors,
                                      std::span<const Candidate* const> choices,
                                      const MethodOptions& options) {
  PowerSgdOptions powersgd;
  for (const Candidate* const choice : choices) powersgd.ranks.push_back(choice->rank);
  return make_powersgd(communicator, tensors, powersgd, options);
}

// Adds `times` what an owner kept to the error of its own worker.
void fold_in(const StateArray& kept, float times, std::vector<float>& error) {
  for (std::size_t i = 0; i < kept.values.size(); ++i)
    error[kept.first + i] += times * kept.values[i];
}

void copy_unit(const MethodState& from, const std::string& tensor, MethodState& to) {
  if (from.numbers.contains(rate_key(tensor))) ErrorUnit::load(from, tensor).save(to, tensor);
}

}  // namespace

LayerMethod::LayerMethod(Communicator& communicator, const std::vector<MethodTensor>& tensors,
                         const Setup& setup)
    : parts_(kParts) {
  const bool is_low_rank = std::ranges::all_of(setup.choices, [](const Candidate* choice) {
    return choice->family == Family::powersgd || choice->family == Family::exact;
  });
  std::vector<std::vector<const Candidate*>> choices(kParts);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::size_t index = part_for(tensors[i], *setup.choices[i], is_low_rank);
    Part& part = parts_[index];
    part_of_.push_back(index);
    place_of_.push_back(part.tensors.size());
    part.tensors.push_back(tensors[i]);
    part.indices.push_back(i);
    choices[index].push_back(setup.choices[i]);
  }
  Part& coded = parts_[kCoded];
  if (!coded.tensors.empty()) {
    coded.method =
        make_coded(communicator, coded.tensors, choices[kCoded], setup.has_memory, setup.options);
  }
  Part& low_rank = parts_[kLowRank];
  if (!low_rank.tensors.empty()) {
    MethodOptions options = setup.options;
    options.topology = setup.low_rank_topology;
    low_rank.method = make_low_rank(communicator, low_rank.tensors, choices[kLowRank], options);
  }
}

void LayerMethod::begin(const StepContext& context) {
  for (Part& part : parts_) {
    if (part.method) part.method->begin(part.rates.select(context, part.indices));
  }
}

void LayerMethod::submit(std::size_t tensor, std::span<float> gradient) {
  parts_[part_of_[tensor]].method->submit(place_of_[tensor], gradient);
}

MethodReport LayerMethod::finish() {
  MethodReport all;
  // All of what was started is waited for: the first failure is the cause.
  std::exception_ptr failure;
  for (const Part& part : parts_) {
    if (!part.method) continue;
    try {
      all.add(part.method->finish());
    } catch (const std::exception&) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  return all;
}

void LayerMethod::rescale(float factor) {
  for (const Part& part : parts_) {
    if (part.method) part.method->rescale(factor);
  }
}

std::size_t LayerMethod::memory_bytes() const {
  std::size_t bytes = 0;
  for (const Part& part : parts_) bytes += part.method ? part.method->memory_bytes() : 0;
  return bytes;
}

std::vector<std::uint64_t> LayerMethod::tensor_bytes() const {
  std::vector<std::uint64_t> bytes(part_of_.size());
  for (const Part& part : parts_) {
    if (!part.method) continue;
    const std::vector<std::uint64_t> of_part = part.method->tensor_bytes();
    if (of_part.empty()) return {};
    for (std::size_t i = 0; i < of_part.size(); ++i) bytes[part.indices[i]] = of_part[i];
  }
  return bytes;
}

std::vector<TensorPiece> LayerMethod::owned() const {
  const Part& part = parts_[kCoded];
  std::vector<TensorPiece> owned = part.method ? part.method->owned() : std::vector<TensorPiece>();
  for (TensorPiece& piece : owned) piece.tensor = part.indices[piece.tensor];
  return owned;
}

void LayerMethod::save(MethodState& state) const {
  for (const Part& part : parts_) {
    if (!part.method) continue;
    MethodState own = part.method->save();
    std::ranges::move(own.arrays, std::back_inserter(state.arrays));
    state.numbers.merge(own.numbers);
  }
}

MethodState LayerMethod::state_for(const Part& part, const MethodState& state) const {
  MethodState own = part.method->save();  // for everything but memories
  own.arrays.clear();
  own.is_reshared = state.is_reshared;
  for (const StateArray& array : state.arrays) {
    if (std::ranges::find(part.tensors, array.tensor, &MethodTensor::name) != part.tensors.end()) {
      own.arrays.push_back(array);
    }
  }
  for (const MethodTensor& tensor : part.tensors) copy_unit(state, tensor.name, own);
  return own;
}

void LayerMethod::load(const MethodState& state) {
  for (const Part& part : parts_) {
    if (part.method) part.method->load(state_for(part, state));
  }
}

void LayerMethod::take_over(const MethodState& state, std::size_t workers) {
  for (const Part& part : parts_) {
    if (!part.method) continue;
    MethodState own = part.method->save();
    for (StateArray& array : own.arrays) {
      if (array.sharing == Sharing::owner) continue;
      // Of a factor with another rank, the columns that both have.
      if (const StateArray* const old = find_array(state, array.memory, array.tensor)) {
        const std::size_t elements = std::min(old->values.size(), array.values.size());
        std::copy_n(old->values.begin(), elements, array.values.begin());
      }
      if (array.sharing != Sharing::worker) continue;
      for (const StateArray& kept : state.arrays) {
        if (kept.sharing != Sharing::owner || kept.tensor != array.tensor) continue;
        fold_in(kept, static_cast<float>(workers), array.values);
      }
    }
    for (const MethodTensor& tensor : part.tensors) copy_unit(state, tensor.name, own);
    part.method->load(own);
  }
}

}  // namespace gradwire
