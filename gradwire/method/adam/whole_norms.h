// WholeNorms: what clips the norm of the mean gradient. In dense steps all ranks know the mean. In
// compressed ones nobody does, so that every worker clips its own gradient, at the limit times the
// ratio of its own norm to the mean's that dense steps have shown. Value type.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "gradwire/core/error.h"
#include "gradwire/kernel/sums.h"
#include "gradwire/method/state.h"

namespace gradwire {

class WholeNorms {
 public:
  // Of a step's own gradient, before it is sent.
  void measure_own(std::span<const std::span<float>> gradient, float weight) {
    double squares = 0;
    for (const auto& values : gradient) squares += kernel::moments(values).squares;
    own_now_ = double{weight} * double{weight} * squares;
  }

  // What this worker's gradient is to be multiplied by in a compressed step.
  float own_scale(double clip) const {
    const double ratio = mean_ > 0 ? std::sqrt(own_ / mean_) : 1;
    return scale_to(clip * ratio, own_now_);
  }

  // What the mean is to be multiplied by in a dense step: the same on all ranks. Its squares are
  // too large by `excess`, which is given by tensor.
  float mean_scale(std::span<const std::span<float>> mean, std::span<const double> excess,
                   double clip) {
    double squares = 0;
    for (std::size_t i = 0; i < mean.size(); ++i) {
      squares += kernel::moments(mean[i]).squares / excess[i];
    }
    constexpr double kDecay = 0.9;
    own_ = kDecay * own_ + (1 - kDecay) * own_now_;
    mean_ = kDecay * mean_ + (1 - kDecay) * squares;
    return scale_to(clip, squares);
  }

  void save(MethodState& state) const {
    state.numbers[kOwn] = own_;
    state.numbers[kMean] = mean_;
  }
  void load(const MethodState& state) {
    const auto number = [&](const char* key) {
      const auto found = state.numbers.find(key);
      if (found == state.numbers.end())
        throw Error("the saved state has no '" + std::string(key) + '\'');
      return found->second;
    };
    own_ = number(kOwn);
    mean_ = number(kMean);
  }
  void rescale(double factor) {
    own_ *= factor * factor;
    mean_ *= factor * factor;
  }

 private:
  static constexpr const char* kOwn = "adam own squares";
  static constexpr const char* kMean = "adam squares of the mean";

  static float scale_to(double most, double squares) {
    const double norm = std::sqrt(squares);
    return norm > most && std::isfinite(norm) ? static_cast<float>(most / norm) : 1.0F;
  }

  double own_now_ = 0;
  double own_ = 0;  // running means of squared norms in dense steps
  double mean_ = 0;
};

}  // namespace gradwire
