// One step of Adam, element by element. Pure functions.
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

namespace scalar {
void adam_step(const AdamStep& step, std::span<const float> gradients, std::span<float> means,
               std::span<float> squares, std::span<float> weights);
}  // namespace scalar

}  // namespace gradwire::kernel
