// For tests of lgc: workers with layers whose gradients have something in common, and vectors that
// a code can learn from.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gradwire/collective/test_support.h"
#include "gradwire/method/lgc/lgc.h"
#include "gradwire/method/lgc/random_numbers.h"
#include "gradwire/method/method.h"

namespace gradwire {

// The last layer first, as a backward pass has them.
inline std::vector<MethodTensor> layer_tensors() {
  return {{"last", {10, 40}},      {"last bias", {10}}, {"middle 2", {80, 60}},
          {"middle 1", {60, 100}}, {"bias", {60}},      {"first", {20, 9}}};
}

struct LayerGradients {
  LayerGradients(std::size_t rank, std::uint64_t step) {
    for (const MethodTensor& tensor : layer_tensors()) {
      std::vector<float> own(tensor.elements());
      std::vector<float> common(tensor.elements());
      fill_random(1 + rank, step, tensor.name, own);
      fill_random(0, step, tensor.name, common);
      for (std::size_t i = 0; i < own.size(); ++i) {
        own[i] = own[i] * own[i] * own[i] + common[i];
      }
      values.push_back(std::move(own));
    }
    spans.assign(values.begin(), values.end());
  }

  std::vector<std::vector<float>> values;
  std::vector<std::span<float>> spans;
};

inline std::unique_ptr<Method> make(Communicator& communicator, const std::string& spec,
                                    Topology topology = Topology::automatic) {
  return make_method(communicator, layer_tensors(), spec,
                     {.topology = topology, .server = 1, .seed = 5});
}

// One vector a rank, smooth and noisy, with a mean of 0.4.
inline std::vector<std::vector<float>> smooth_vectors(std::size_t ranks, std::size_t values,
                                                      std::uint64_t step) {
  std::vector<std::vector<float>> vectors;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::vector<float> noise(values);
    fill_random(77 + rank, step, "noise", noise);
    for (std::size_t i = 0; i < values; ++i) {
      const auto at = static_cast<float>(i) + 31.0F * static_cast<float>(step + 5 * rank);
      noise[i] = 0.4F + std::sin(0.35F * at) + 0.3F * noise[i];
    }
    vectors.push_back(std::move(noise));
  }
  return vectors;
}

inline double relative_error(std::span<const float> values, std::span<const float> wanted) {
  double lost = 0;
  double squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double difference = double{values[i]} - double{wanted[i]};
    lost += difference * difference;
    squares += double{wanted[i]} * double{wanted[i]};
  }
  return std::sqrt(lost / squares);
}

}  // namespace gradwire
