// What a memory of errors is measured in. An error is a part of an update, gamma times a gradient;
// it is kept in units of the gradient, so when gamma changes it has to be multiplied by
// gamma_old / gamma_new. That is done where the memory is read anyway.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gradwire/method/method.h"
#include "gradwire/method/state.h"

namespace gradwire {

// In a state's numbers, under which any method finds it.
inline std::string rate_key(const std::string& tensor) { return "rate of " + tensor; }

class RateUnit {
 public:
  explicit RateUnit(const std::vector<MethodTensor>& tensors)
      : tensors_(tensors), rates_(tensors.size(), 0.0) {}

  // What the memory of a tensor has to be multiplied by in a step with this rate. A rate that is
  // not above zero says nothing about the next one.
  float factor(std::size_t tensor, double rate) const {
    return rate > 0 && rates_[tensor] > 0 ? static_cast<float>(rates_[tensor] / rate) : 1.0F;
  }

  // The memory has been written in a step with this rate.
  void commit(std::size_t first, std::size_t last, double rate) {
    for (std::size_t i = first; i < last; ++i) {
      if (rate > 0) rates_[i] = rate;
    }
  }

  void save(MethodState& state) const {
    for (std::size_t i = 0; i < rates_.size(); ++i) state.numbers[key(i)] = rates_[i];
  }
  void load(const MethodState& state) {
    for (std::size_t i = 0; i < rates_.size(); ++i) {
      const auto saved = state.numbers.find(key(i));
      rates_[i] = saved == state.numbers.end() ? 0.0 : saved->second;
    }
  }

 private:
  std::string key(std::size_t tensor) const { return rate_key(tensors_[tensor].name); }

  const std::vector<MethodTensor>& tensors_;
  std::vector<double> rates_;
};

}  // namespace gradwire
