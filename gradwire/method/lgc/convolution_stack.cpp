#include "gradwire/method/lgc/convolution_stack.h"

#include <utility>

#include "gradwire/core/check.h"
#include "gradwire/kernel/leaky_relu.h"

namespace gradwire {
namespace {

constexpr float kSlope = 0.01F;  // of the leaky ReLU below zero

}  // namespace

ConvolutionStack::ConvolutionStack(std::vector<Convolution> layers)
    : layers_(std::move(layers)), firsts_{0} {
  for (const Convolution& layer : layers_) firsts_.push_back(firsts_.back() + layer.weights());
}

ConvolutionStack::Trace ConvolutionStack::forward(Signal input,
                                                  std::span<const float> weights) const {
  Trace trace = {std::move(input)};
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (i > 0) kernel::leaky_relu(kSlope, trace.back().values);
    trace.push_back(layers_[i].forward(trace.back(), of_layer(weights, i)));
  }
  return trace;
}

Signal ConvolutionStack::backward(const Trace& trace, Signal output_gradients,
                                  std::span<const float> transposed,
                                  std::span<float> gradients) const {
  GW_CHECK(trace.size() == layers_.size() + 1);
  Signal back = std::move(output_gradients);
  for (std::size_t i = layers_.size(); i-- > 0;) {
    const Convolution& layer = layers_[i];
    const Signal& input = trace[i];
    layer.add_weight_gradients(input, back, of_layer(gradients, i));
    back = layer.input_gradients(back, input.length, of_layer(transposed, i));
    if (i > 0) kernel::leaky_relu_backward(kSlope, input.values, back.values);
  }
  return back;
}

void ConvolutionStack::transpose(std::span<const float> weights,
                                 std::span<float> transposed) const {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layers_[i].transpose(of_layer(weights, i), of_layer(transposed, i));
  }
}

void ConvolutionStack::to_torch_order(std::span<const float> weights,
                                      std::span<float> ordered) const {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layers_[i].to_torch_order(of_layer(weights, i), of_layer(ordered, i));
  }
}

void ConvolutionStack::from_torch_order(std::span<const float> ordered,
                                        std::span<float> weights) const {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layers_[i].from_torch_order(of_layer(ordered, i), of_layer(weights, i));
  }
}

}  // namespace gradwire
