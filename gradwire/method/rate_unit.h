// RateUnit: how an error memory follows the learning rate gamma.
//
// An error is the unsent part of past gradients, in units of the gradient. Its share of an update
// is gamma times the error. When gamma falls, the error grows by gamma_old / gamma_new, so that
// this share stays; but in all it grows at most kGrowthMax times. When gamma rises again, this
// growth is taken back first; beyond that the error stays. So the gradients that a method gives out
// keep an honest size, which a momentum, clipping and a later rise of gamma rely on.
// docs/equations.md derives what the limit costs.
//
// The factor is applied where the memory is read anyway.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "gradwire/method/method.h"
#include "gradwire/method/state.h"

namespace gradwire {

// In a state's numbers.
inline std::string rate_key(const std::string& tensor) { return "rate of " + tensor; }
inline std::string growth_key(const std::string& tensor) { return "growth of " + tensor; }

// The unit of one tensor's error. Value type.
struct ErrorUnit {
  static constexpr double kGrowthMax = 4;

  double rate = 0;    // of the last step; 0: there was none
  double growth = 1;  // of the error since it was in plain units of the gradient

  // The growth in a step with this rate. A rate that is not above zero changes nothing.
  double growth_at(double new_rate) const {
    if (!(rate > 0) || !(new_rate > 0)) return growth;
    return std::clamp(growth * (rate / new_rate), 1.0, kGrowthMax);
  }
  // What the error is multiplied by in that step.
  float factor(double new_rate) const { return static_cast<float>(growth_at(new_rate) / growth); }

  // The error has been written in a step with this rate.
  void commit(double new_rate) {
    growth = growth_at(new_rate);
    if (new_rate > 0) rate = new_rate;
  }

  void save(MethodState& state, const std::string& tensor) const {
    state.numbers[rate_key(tensor)] = rate;
    state.numbers[growth_key(tensor)] = growth;
  }
  static ErrorUnit load(const MethodState& state, const std::string& tensor) {
    const auto number = [&](const std::string& key, double otherwise) {
      const auto found = state.numbers.find(key);
      return found == state.numbers.end() ? otherwise : found->second;
    };
    return {.rate = number(rate_key(tensor), 0),
            .growth = std::clamp(number(growth_key(tensor), 1), 1.0, kGrowthMax)};
  }
};

// The units of all tensors of a method.
class RateUnit {
 public:
  explicit RateUnit(const std::vector<MethodTensor>& tensors)
      : tensors_(tensors), units_(tensors.size()) {}

  float factor(std::size_t tensor, const StepContext& context) const {
    return units_[tensor].factor(context.rate_of(tensor));
  }

  // The memories of these tensors have been written in a step.
  void commit(std::size_t first, std::size_t last, const StepContext& context) {
    for (std::size_t i = first; i < last; ++i) units_[i].commit(context.rate_of(i));
  }

  void save(MethodState& state) const {
    for (std::size_t i = 0; i < units_.size(); ++i) units_[i].save(state, tensors_[i].name);
  }
  void load(const MethodState& state) {
    for (std::size_t i = 0; i < units_.size(); ++i) {
      units_[i] = ErrorUnit::load(state, tensors_[i].name);
    }
  }

 private:
  const std::vector<MethodTensor>& tensors_;
  std::vector<ErrorUnit> units_;
};

}  // namespace gradwire
