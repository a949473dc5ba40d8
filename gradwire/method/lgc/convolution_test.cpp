#include "gradwire/method/lgc/convolution.h"

#include <cmath>

#include "gradwire/method/lgc/convolution_stack.h"
#include "gradwire/method/lgc/random_numbers.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

std::vector<float> random_vector(std::size_t count, std::uint64_t seed) {
  std::vector<float> values(count);
  fill_random(seed, 0, "test of convolutions", values);
  return values;
}

Signal random_signal(std::size_t length, std::size_t channels, std::uint64_t seed) {
  Signal signal(length, channels);
  fill_random(seed, 0, "test of convolutions", signal.values);
  return signal;
}

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

constexpr ConvolutionShape kShapes[] = {
    {.inputs = 5, .outputs = 7, .kernel = 3, .stride = 2},
    {.inputs = 1, .outputs = 9, .kernel = 3, .stride = 2},
    {.inputs = 6, .outputs = 1, .kernel = 3},
    {.inputs = 4, .outputs = 18},
    {.kind = ConvolutionKind::transposed, .inputs = 5, .outputs = 7, .kernel = 3, .stride = 2},
};

TEST(Convolution, IsTheSumOfItsDefinition) {
  const Convolution direct({.inputs = 2, .outputs = 1, .kernel = 3, .stride = 2});
  Signal input(5, 2);
  input.values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  const std::vector<float> weights = {1, 0, 10, 0, 100, 1000, 0.5F};
  const Signal output = direct.forward(input, weights);
  EXPECT_EQ(output.values, (std::vector<float>{6531.5F, 10975.5F}));

  const Convolution transposed(
      {.kind = ConvolutionKind::transposed, .inputs = 1, .outputs = 1, .kernel = 3, .stride = 2});
  Signal two(2, 1);
  two.values = {1, 2};
  EXPECT_EQ(transposed.forward(two, std::vector<float>{1, 10, 100, 0.5F}).values,
            (std::vector<float>{1.5F, 10.5F, 102.5F, 20.5F, 200.5F}));
}

// A convolution is linear in its input, and in its weights: gradients are their adjoints, and hold
// for steps of any size.
TEST(Convolution, GradientsAreThoseOfItsOutput) {
  for (const ConvolutionShape& shape : kShapes) {
    const Convolution layer(shape);
    const Signal input = random_signal(11, shape.inputs, 1);
    const std::vector<float> weights = random_vector(layer.weights(), 2);
    const Signal output = layer.forward(input, weights);
    const Signal back = random_signal(output.length, output.channels, 3);

    std::vector<float> gradients(weights.size());
    layer.add_weight_gradients(input, back, gradients);
    EXPECT_NEAR(dot(gradients, weights), dot(back.values, output.values), 1e-4);

    std::vector<float> transposed(weights.size());
    layer.transpose(weights, transposed);
    const Signal of_input = layer.input_gradients(back, input.length, transposed);
    const Signal constant = layer.forward(Signal(input.length, shape.inputs), weights);
    EXPECT_NEAR(dot(of_input.values, input.values),
                dot(back.values, output.values) - dot(back.values, constant.values), 1e-4);
  }
}

TEST(Convolution, TorchOrderIsByOutputInputAndPosition) {
  const Convolution direct({.inputs = 2, .outputs = 3, .kernel = 2});
  std::vector<float> ordered(direct.weights());
  for (std::size_t i = 0; i < ordered.size(); ++i) ordered[i] = static_cast<float>(i);
  std::vector<float> weights(ordered.size());
  direct.from_torch_order(ordered, weights);
  // W[k][input][output] = theirs[output][input][k].
  EXPECT_EQ(weights, (std::vector<float>{0, 4, 8, 2, 6, 10, 1, 5, 9, 3, 7, 11, 12, 13, 14}));
  for (const ConvolutionShape& shape : kShapes) {
    const Convolution layer(shape);
    const std::vector<float> before = random_vector(layer.weights(), 4);
    std::vector<float> theirs(before.size()), after(before.size());
    layer.to_torch_order(before, theirs);
    layer.from_torch_order(theirs, after);
    EXPECT_EQ(after, before);
  }
}

TEST(ConvolutionStack, GradientsAgreeWithFiniteDifferences) {
  const ConvolutionStack stack(
      {Convolution(kShapes[1]), Convolution({.inputs = 9, .outputs = 5}), Convolution(kShapes[4])});
  const Signal input = random_signal(15, 1, 10);
  const std::vector<float> weights = random_vector(stack.weights(), 6);
  const auto trace = stack.forward(input, weights);
  // Where a leaky ReLU turns within a step there is no derivative: no value may be near zero.
  constexpr float kStep = 1e-3F;
  for (const std::size_t layer : {1U, 2U}) {
    for (const float value : trace[layer].values) {
      ASSERT_GT(std::abs(value > 0 ? value : value / 0.01F), 5 * kStep) << "take another seed";
    }
  }
  const Signal back = random_signal(trace.back().length, trace.back().channels, 7);
  std::vector<float> transposed(weights.size()), gradients(weights.size());
  stack.transpose(weights, transposed);
  const Signal of_input = stack.backward(trace, back, transposed, gradients);

  const auto loss = [&](const Signal& in, std::span<const float> with) {
    return dot(stack.forward(in, with).back().values, back.values);
  };
  for (std::size_t i = 0; i < weights.size(); ++i) {
    std::vector<float> more = weights, less = weights;
    more[i] += kStep;
    less[i] -= kStep;
    const double wanted = (loss(input, more) - loss(input, less)) / (2 * double{kStep});
    EXPECT_NEAR(double{gradients[i]}, wanted, 5e-3 + 5e-3 * std::abs(wanted)) << i;
  }
  for (std::size_t i = 0; i < input.values.size(); ++i) {
    Signal more = input, less = input;
    more.values[i] += kStep;
    less.values[i] -= kStep;
    const double wanted = (loss(more, weights) - loss(less, weights)) / (2 * double{kStep});
    EXPECT_NEAR(double{of_input.values[i]}, wanted, 5e-3 + 5e-3 * std::abs(wanted)) << i;
  }
}

}  // namespace
}  // namespace gradwire
