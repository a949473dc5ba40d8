// For tests: a small network with its gradients, and generated digits to train it on. Pixels,
// one hidden layer with ReLU, softmax; plain loops over floats.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include "gradwire/codec/test_support.h"

namespace gradwire {

inline constexpr std::size_t kSide = 8;
inline constexpr std::size_t kPixels = kSide * kSide;
inline constexpr std::size_t kHidden = 32;
inline constexpr std::size_t kClasses = 10;

struct Digit {
  std::array<float, kPixels> pixels;
  std::size_t label = 0;
};

// One smooth random picture a class, and noise on every sample. Classes take turns.
inline std::vector<Digit> generated_digits(std::size_t count, float noise, std::uint64_t seed) {
  constexpr std::size_t kWaves = 3;  // along each side
  const auto wave = [](std::size_t number, std::size_t at) {
    return std::cos(std::numbers::pi_v<float> * float(number) * (float(at) + 0.5F) / float(kSide));
  };
  std::vector<Digit> digits(count);
  for (std::size_t i = 0; i < count; ++i) {
    digits[i].label = i % kClasses;
    const std::vector<float> heights = gaussian(kWaves * kWaves, seed + digits[i].label);
    const std::vector<float> noises = gaussian(kPixels, seed + kClasses + i);
    for (std::size_t pixel = 0; pixel < kPixels; ++pixel) {
      float value = noise * noises[pixel];
      for (std::size_t j = 0; j < heights.size(); ++j) {
        value += heights[j] / float(kWaves) * wave(j / kWaves, pixel / kSide) *
                 wave(j % kWaves, pixel % kSide);
      }
      digits[i].pixels[pixel] = value;
    }
  }
  return digits;
}

// The parameters are one vector: weights and biases of the hidden layer, then of the last.
class DigitNetwork {
 public:
  static constexpr std::size_t kBias1 = kPixels * kHidden;
  static constexpr std::size_t kWeights2 = kBias1 + kHidden;
  static constexpr std::size_t kBias2 = kWeights2 + kHidden * kClasses;
  static constexpr std::size_t kElements = kBias2 + kClasses;

  static std::vector<float> start(std::uint64_t seed) {
    std::vector<float> x = gaussian(kElements, seed);
    for (std::size_t i = 0; i < kElements; ++i) {
      const bool is_bias = (i >= kBias1 && i < kWeights2) || i >= kBias2;
      const float inputs = i < kBias1 ? float(kPixels) : float(kHidden);
      x[i] *= is_bias ? 0 : std::sqrt(2 / inputs);
    }
    return x;
  }

  // The loss of one sample. Adds `weight` times its gradient, unless that is empty.
  static double learn(std::span<const float> x, const Digit& digit, float weight,
                      std::span<float> gradient) {
    std::array<float, kHidden> hidden;
    for (std::size_t j = 0; j < kHidden; ++j) {
      float sum = x[kBias1 + j];
      for (std::size_t i = 0; i < kPixels; ++i) sum += x[j * kPixels + i] * digit.pixels[i];
      hidden[j] = std::max(sum, 0.0F);
    }
    std::array<float, kClasses> shares;
    for (std::size_t k = 0; k < kClasses; ++k) {
      shares[k] = x[kBias2 + k];
      for (std::size_t j = 0; j < kHidden; ++j) {
        shares[k] += x[kWeights2 + k * kHidden + j] * hidden[j];
      }
    }
    const float largest = *std::max_element(shares.begin(), shares.end());
    float sum = 0;
    for (float& share : shares) sum += share = std::exp(share - largest);
    for (float& share : shares) share /= sum;
    const double loss = -std::log(std::max(double{shares[digit.label]}, 1e-30));
    if (!gradient.empty()) {
      shares[digit.label] -= 1;  // of the loss by the inputs of the softmax
      add_gradient(x, digit, hidden, shares, weight, gradient);
    }
    return loss;
  }

 private:
  static void add_gradient(std::span<const float> x, const Digit& digit,
                           const std::array<float, kHidden>& hidden,
                           const std::array<float, kClasses>& outputs, float weight,
                           std::span<float> gradient) {
    std::array<float, kHidden> back = {};
    for (std::size_t k = 0; k < kClasses; ++k) {
      const float d = weight * outputs[k];
      gradient[kBias2 + k] += d;
      for (std::size_t j = 0; j < kHidden; ++j) {
        gradient[kWeights2 + k * kHidden + j] += d * hidden[j];
        back[j] += d * x[kWeights2 + k * kHidden + j];
      }
    }
    for (std::size_t j = 0; j < kHidden; ++j) {
      if (hidden[j] <= 0) continue;
      gradient[kBias1 + j] += back[j];
      for (std::size_t i = 0; i < kPixels; ++i) {
        gradient[j * kPixels + i] += back[j] * digit.pixels[i];
      }
    }
  }
};

}  // namespace gradwire
