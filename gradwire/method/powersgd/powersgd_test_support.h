// For tests of powersgd: tensors and gradients, and ways to look at states.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gradwire/collective/test_support.h"
#include "gradwire/method/method.h"

namespace gradwire {

// Matrices, and tensors that are not compressed between them.
inline std::vector<MethodTensor> mixed_tensors() {
  return {
      {"w", {20, 30}}, {"bias", {20}}, {"conv", {8, 4, 3, 3}}, {"tiny", {2, 2}}, {"v", {40, 9}}};
}

inline std::vector<std::size_t> method_elements(const std::vector<MethodTensor>& tensors) {
  std::vector<std::size_t> elements;
  for (const MethodTensor& tensor : tensors) elements.push_back(tensor.elements());
  return elements;
}

struct Gradients {
  explicit Gradients(const std::vector<std::size_t>& elements) {
    for (const std::size_t count : elements) values.emplace_back(count);
    spans.assign(values.begin(), values.end());
  }

  std::vector<std::vector<float>> values;
  std::vector<std::span<float>> spans;
};

// Other ones on every rank and at every step.
inline Gradients step_gradients(const std::vector<MethodTensor>& tensors, std::size_t rank,
                                std::uint64_t step) {
  Gradients gradients(method_elements(tensors));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto values = rank_values(rank, 100 * step + i, gradients.values[i].size());
    std::ranges::copy(values, gradients.values[i].begin());
  }
  return gradients;
}

inline void append(const Gradients& gradients, std::vector<float>& all) {
  for (const auto& values : gradients.values) all.insert(all.end(), values.begin(), values.end());
}

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return std::ranges::equal(std::as_bytes(a), std::as_bytes(b));
}

inline double norm_of(std::span<const float> values) {
  double squares = 0;
  for (const float value : values) squares += double{value} * double{value};
  return std::sqrt(squares);
}

// Empty if there is none.
inline std::vector<float> array_of(const MethodState& state, const std::string& memory,
                                   const std::string& tensor) {
  for (const StateArray& array : state.arrays) {
    if (array.memory == memory && array.tensor == tensor) return array.values;
  }
  return {};
}

}  // namespace gradwire
