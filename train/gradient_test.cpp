// Gradients against central differences of the loss.
#include <cmath>

#include "gtest/gtest.h"
#include "train/model_test_support.h"

namespace gradwire::train {
namespace {

constexpr Draw kDraw{.seed = 5, .step = 7};

class Gradient : public testing::TestWithParam<ModelCase> {};

INSTANTIATE_TEST_SUITE_P(Families, Gradient, testing::ValuesIn(model_cases()), case_name);

double squared_norm(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += std::pow(value, 2);
  return sum;
}

// The model's mean loss as a function of its parameters.
class Loss {
 public:
  Loss(Model& model, const data::Batch& batch)
      : model_(model), batch_(batch), values_(copy_of(model.values())) {}

  double here() {
    const Score score = model_.learn(batch_, kDraw, 1, {});
    return score.loss / static_cast<double>(score.count);
  }

  // With this parameter moved by step times the direction.
  double moved(const Parameter& parameter, double step, std::span<const float> direction) {
    std::ranges::copy(values_, model_.values().begin());
    for (std::size_t i = 0; i < parameter.elements; ++i) {
      model_.values()[parameter.first + i] += static_cast<float>(step * direction[i]);
    }
    return here();
  }

 private:
  Model& model_;
  const data::Batch& batch_;
  std::vector<float> values_;
};

// Along its own direction, a parameter's gradient must say what the loss does: one of the wrong
// size or direction would not. The first steps change the loss by 0.01%. Where kinks of ReLU lie
// within them, shorter ones, with more rounding, must do.
TEST_P(Gradient, OfEachParameterIsWhatTheLossDoes) {
  constexpr double kTolerance = 0.03;
  set_operation_threads(1);
  const auto model = make_model(GetParam().spec, GetParam().shape, 1);
  const data::Batch batch = random_batch(GetParam().shape, 4);
  Loss loss(*model, batch);
  const double loss_before = loss.here();
  const auto all_gradients = copy_of(model->gradients());
  for (const Parameter& parameter : model->parameters()) {
    const auto gradient = std::span(all_gradients).subspan(parameter.first, parameter.elements);
    const double squared = squared_norm(gradient);
    if (squared < 1e-6) continue;  // too flat for floats to tell
    double ratio = 0;              // of what the loss does to what the gradient says
    for (const double share : {5e-5, 2e-5, 1e-5}) {
      const double step = share * loss_before / squared;
      const double change =
          loss.moved(parameter, step, gradient) - loss.moved(parameter, -step, gradient);
      ratio = change / (2 * step * squared);
      if (std::abs(ratio - 1) < kTolerance) break;
    }
    EXPECT_NEAR(ratio, 1, kTolerance) << parameter.name;
  }
}

}  // namespace
}  // namespace gradwire::train
