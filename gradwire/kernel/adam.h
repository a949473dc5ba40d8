// Steps of Adam, element by element: a whole step, and the parts that a method puts an exchange
// between. Pure functions.
#pragma once

#include <span>

namespace gradwire::kernel {

struct AdamStep {
  float mean_decay = 0;    // what stays of the mean of gradients
  float square_decay = 0;  // and of the mean of their squares
  float rate = 0;          // the learning rate over the bias of the mean
  float unbias = 0;        // what the root of the mean square is multiplied by
  float epsilon = 0;
};

// All spans have the same length.
void adam_step(const AdamStep& step, std::span<const float> gradients, std::span<float> means,
               std::span<float> squares, std::span<float> weights);

// What Adam divides by: sqrt(square) * unbias + epsilon.
struct AdamDivisor {
  float unbias = 1;
  float epsilon = 0;
};

// means = mean_decay means + (1 - mean_decay) g, squares = square_decay squares + square_share g^2,
// with g = scale gradients.
struct AdamMoments {
  float mean_decay = 0;
  float square_decay = 0;
  float square_share = 0;
  float scale = 1;
};
void adam_moments(const AdamMoments& moments, std::span<const float> gradients,
                  std::span<float> means, std::span<float> squares);

// values = a means / divisor + b values / divisor, of which the second part is at most `limit` from
// zero. What is not finite stays so.
struct AdamParts {
  float a = 0;
  float b = 0;
  float limit = 0;
};
void adam_divide(const AdamDivisor& divisor, const AdamParts& parts, std::span<const float> means,
                 std::span<const float> squares, std::span<float> values);

// The way back: means = a means + b (values divisor), then values = rate means / divisor.
void adam_take(const AdamDivisor& divisor, float a, std::span<float> means, float b, float rate,
               std::span<const float> squares, std::span<float> values);

namespace scalar {
void adam_moments(const AdamMoments& moments, std::span<const float> gradients,
                  std::span<float> means, std::span<float> squares);
void adam_divide(const AdamDivisor& divisor, const AdamParts& parts, std::span<const float> means,
                 std::span<const float> squares, std::span<float> values);
void adam_take(const AdamDivisor& divisor, float a, std::span<float> means, float b, float rate,
               std::span<const float> squares, std::span<float> values);
void adam_step(const AdamStep& step, std::span<const float> gradients, std::span<float> means,
               std::span<float> squares, std::span<float> weights);
}  // namespace scalar

}  // namespace gradwire::kernel
