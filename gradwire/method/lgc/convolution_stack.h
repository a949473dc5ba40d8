// ConvolutionStack: convolutions one after the other, with a leaky ReLU between two of them,
// forward and backward. The caller owns weights and gradients: those of the layers, one after the
// other. A value type.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gradwire/method/lgc/convolution.h"

namespace gradwire {

class ConvolutionStack {
 public:
  explicit ConvolutionStack(std::vector<Convolution> layers);

  std::size_t weights() const { return firsts_.back(); }
  const std::vector<Convolution>& layers() const { return layers_; }
  // Of all weights, or of something beside them, those of a layer.
  template <class Float>
  std::span<Float> of_layer(std::span<Float> all, std::size_t layer) const {
    return all.subspan(firsts_[layer], layers_[layer].weights());
  }

  // What went in, and what came out of each layer behind its leaky ReLU.
  using Trace = std::vector<Signal>;
  Trace forward(Signal input, std::span<const float> weights) const;

  // Adds to the gradients of weights, and returns those of the input. `transposed` is by
  // transpose() from the weights that the trace was made with.
  Signal backward(const Trace& trace, Signal output_gradients, std::span<const float> transposed,
                  std::span<float> gradients) const;

  // Of all layers, see Convolution. All are as long as the weights.
  void transpose(std::span<const float> weights, std::span<float> transposed) const;
  void to_torch_order(std::span<const float> weights, std::span<float> ordered) const;
  void from_torch_order(std::span<const float> ordered, std::span<float> weights) const;

 private:
  std::vector<Convolution> layers_;
  std::vector<std::size_t> firsts_;  // weight of each layer, and one behind the last
};

}  // namespace gradwire
