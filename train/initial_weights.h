// InitialWeights: what a parameter holds before the first step. A function of the parameter's name
// and the seed alone, so that neither the order in which parameters are made nor who makes them
// matters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace gradwire::train {

struct InitialWeights {
  enum class Kind { constant, normal, uniform };

  Kind kind = Kind::constant;
  double scale = 0;  // the constant, the standard deviation, or the largest magnitude

  static InitialWeights constant(double value);
  static InitialWeights normal(double deviation);
  // Keeps the variance of what goes through a layer and a ReLU (He et al. 2015, equation 10).
  static InitialWeights before_relu(std::size_t inputs);
  // Uniform and small, for the layer whose outputs are the scores of classes.
  static InitialWeights before_loss(std::size_t inputs);
};

void draw_weights(std::string_view parameter, const InitialWeights& initial, std::uint64_t seed,
                  std::span<float> weights);

}  // namespace gradwire::train
