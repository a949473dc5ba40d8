#include "gradwire/method/lgc/convolution.h"

#include <algorithm>

#include "gradwire/core/check.h"
#include "gradwire/kernel/product.h"

namespace gradwire {
namespace {

// out[t] += sum over k of in[stride t + k] W[k], in one product: what a kernel sees is one row.
void add_convolved(const Signal& in, std::span<const float> matrix, std::size_t kernel,
                   std::size_t stride, Signal& out) {
  kernel::add_product({.rows = out.length, .inner = kernel * in.channels, .columns = out.channels},
                      {.values = in.values, .row_stride = stride * in.channels},
                      {.values = matrix, .stride = out.channels},
                      {.values = out.values, .stride = out.channels});
}

// out[stride t + k] += in[t] W[k], in a product for each k.
void add_spread(const Signal& in, std::span<const float> matrix, std::size_t kernel,
                std::size_t stride, Signal& out) {
  const std::size_t elements = in.channels * out.channels;
  for (std::size_t k = 0; k < kernel; ++k) {
    kernel::add_product({.rows = in.length, .inner = in.channels, .columns = out.channels},
                        {.values = in.values, .row_stride = in.channels},
                        {.values = matrix.subspan(k * elements, elements), .stride = out.channels},
                        {.values = std::span(out.values).subspan(k * out.channels),
                         .stride = stride * out.channels});
  }
}

}  // namespace

std::size_t Convolution::output_length(std::size_t input_length) const {
  if (shape_.kind == ConvolutionKind::transposed) {
    return (input_length - 1) * shape_.stride + shape_.kernel;
  }
  return (input_length - shape_.kernel) / shape_.stride + 1;
}

Signal Convolution::forward(const Signal& input, std::span<const float> weights) const {
  GW_CHECK(input.channels == shape_.inputs && weights.size() == this->weights());
  Signal output(output_length(input.length), shape_.outputs);
  const std::span<const float> constant = weights.subspan(matrix());
  for (std::size_t t = 0; t < output.length; ++t) {
    std::ranges::copy(constant, output.at(t).begin());
  }
  const auto add = shape_.kind == ConvolutionKind::direct ? add_convolved : add_spread;
  add(input, weights.first(matrix()), shape_.kernel, shape_.stride, output);
  return output;
}

void Convolution::add_weight_gradients(const Signal& input, const Signal& output_gradients,
                                       std::span<float> gradients) const {
  GW_CHECK(gradients.size() == weights());
  const auto& [kind, inputs, outputs, kernel, stride] = shape_;
  if (kind == ConvolutionKind::direct) {
    kernel::add_product(
        {.rows = kernel * inputs, .inner = output_gradients.length, .columns = outputs},
        {.values = input.values, .row_stride = 1, .inner_stride = stride * inputs},
        {.values = output_gradients.values, .stride = outputs},
        {.values = gradients, .stride = outputs});
  } else {
    for (std::size_t k = 0; k < kernel; ++k) {
      kernel::add_product({.rows = inputs, .inner = input.length, .columns = outputs},
                          {.values = input.values, .row_stride = 1, .inner_stride = inputs},
                          {.values = std::span(output_gradients.values).subspan(k * outputs),
                           .stride = stride * outputs},
                          {.values = gradients.subspan(k * inputs * outputs), .stride = outputs});
    }
  }
  const std::span<float> constant = gradients.subspan(matrix());
  for (std::size_t t = 0; t < output_gradients.length; ++t) {
    const std::span<const float> more = output_gradients.at(t);
    for (std::size_t i = 0; i < constant.size(); ++i) constant[i] += more[i];
  }
}

// The adjoint of a convolution is the transposed one, and the other way round.
Signal Convolution::input_gradients(const Signal& output_gradients, std::size_t input_length,
                                    std::span<const float> transposed) const {
  GW_CHECK(output_gradients.channels == shape_.outputs && transposed.size() == weights());
  GW_CHECK(output_gradients.length == output_length(input_length));
  Signal gradients(input_length, shape_.inputs);
  const auto add = shape_.kind == ConvolutionKind::direct ? add_spread : add_convolved;
  add(output_gradients, transposed.first(matrix()), shape_.kernel, shape_.stride, gradients);
  return gradients;
}

void Convolution::transpose(std::span<const float> weights, std::span<float> transposed) const {
  GW_CHECK(weights.size() == this->weights() && transposed.size() == this->weights());
  const auto& [kind, inputs, outputs, kernel, stride] = shape_;
  for (std::size_t k = 0; k < kernel; ++k) {
    const std::size_t first = k * inputs * outputs;
    for (std::size_t o = 0; o < outputs; ++o) {
      for (std::size_t i = 0; i < inputs; ++i) {
        transposed[first + o * inputs + i] = weights[first + i * outputs + o];
      }
    }
  }
}

template <class Visit>
void Convolution::visit_weights(const Visit& visit) const {
  const auto& [kind, inputs, outputs, kernel, stride] = shape_;
  const bool is_direct = kind == ConvolutionKind::direct;
  for (std::size_t i = 0; i < inputs; ++i) {
    for (std::size_t o = 0; o < outputs; ++o) {
      const std::size_t pair = is_direct ? o * inputs + i : i * outputs + o;
      for (std::size_t k = 0; k < kernel; ++k) {
        visit((k * inputs + i) * outputs + o, pair * kernel + k);
      }
    }
  }
}

void Convolution::to_torch_order(std::span<const float> weights, std::span<float> ordered) const {
  visit_weights([&](std::size_t ours, std::size_t theirs) { ordered[theirs] = weights[ours]; });
  std::ranges::copy(weights.subspan(matrix()), ordered.subspan(matrix()).begin());
}

void Convolution::from_torch_order(std::span<const float> ordered, std::span<float> weights) const {
  visit_weights([&](std::size_t ours, std::size_t theirs) { weights[ours] = ordered[theirs]; });
  std::ranges::copy(ordered.subspan(matrix()), weights.subspan(matrix()).begin());
}

}  // namespace gradwire
