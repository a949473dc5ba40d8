// Convolution: one layer of 1-D convolutions, or of transposed ones, forward and backward. It has
// no memory: the caller owns weights and gradients. All sums are in one order on every machine. A
// value type.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace gradwire {

// A sequence of positions with `channels` numbers each, stored position by position.
struct Signal {
  Signal(std::size_t length_, std::size_t channels_)
      : length(length_), channels(channels_), values(length_ * channels_) {}

  std::span<float> at(std::size_t position) {
    return std::span(values).subspan(position * channels, channels);
  }
  std::span<const float> at(std::size_t position) const {
    return std::span(values).subspan(position * channels, channels);
  }

  std::size_t length;
  std::size_t channels;
  std::vector<float> values;
};

enum class ConvolutionKind {
  direct,      // y[t] = b + sum over k of x[stride t + k] W[k]
  transposed,  // y = b, and then y[stride t + k] += x[t] W[k]
};

struct ConvolutionShape {
  ConvolutionKind kind = ConvolutionKind::direct;
  std::size_t inputs = 0;  // channels
  std::size_t outputs = 0;
  std::size_t kernel = 1;  // positions
  std::size_t stride = 1;
};

class Convolution {
 public:
  explicit Convolution(const ConvolutionShape& shape) : shape_(shape) {}

  const ConvolutionShape& shape() const { return shape_; }

  // The number of weights: W[k][input][output], then the constants b[output].
  std::size_t weights() const { return matrix() + shape_.outputs; }
  std::size_t output_length(std::size_t input_length) const;

  Signal forward(const Signal& input, std::span<const float> weights) const;

  // Adds the gradients with respect to the weights to `gradients`.
  void add_weight_gradients(const Signal& input, const Signal& output_gradients,
                            std::span<float> gradients) const;

  // The gradients with respect to the input. `transposed` are the weights as transpose() writes
  // them.
  Signal input_gradients(const Signal& output_gradients, std::size_t input_length,
                         std::span<const float> transposed) const;

  // Writes W as W[k][output][input]. Does not write the constants.
  void transpose(std::span<const float> weights, std::span<float> transposed) const;

  // To and from PyTorch's order of weights: W[output][input][k], or W[input][output][k] of a
  // transposed convolution.
  void to_torch_order(std::span<const float> weights, std::span<float> ordered) const;
  void from_torch_order(std::span<const float> ordered, std::span<float> weights) const;

 private:
  std::size_t matrix() const { return shape_.kernel * shape_.inputs * shape_.outputs; }
  // Calls visit(index, index in PyTorch's order) for each element of W.
  template <class Visit>
  void visit_weights(const Visit& visit) const;

  ConvolutionShape shape_;
};

}  // namespace gradwire
