// Optimiser: what becomes of the parameters x when a method has given its output g.
//
//   sgd(momentum=m, nesterov=on|off, decay=w)
//     g += w x;  v = m v + g;  x -= rate (nesterov ? g + m v : v)
//   adam(beta1=0.9, beta2=0.999, epsilon=1e-8, decay=w)
//     g += w x;  m = b1 m + (1 - b1) g;  s = b2 s + (1 - b2) g^2
//     x -= rate (m / (1 - b1^t)) / (sqrt(s / (1 - b2^t)) + epsilon)
//   adamw(...)   the same, but w is not added to g:  x -= rate w x  comes first
//
// Where a method's output is an update u, it is subtracted as it is: x -= u + rate w x. A method
// that owns moments is adamw itself: it takes the settings over, and only the subtraction is left.
// Then comes the prox of a regulariser, if there is one. Every element is worked on by itself, in
// floats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "convex/regulariser.h"
#include "gradwire/codec/codec.h"
#include "gradwire/method/method.h"

namespace gradwire::train {

struct OptimiserOptions {
  enum class Kind { sgd, adam, adamw };

  Kind kind = Kind::sgd;
  double momentum = 0;
  bool nesterov = false;
  double decay = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;

  bool has_momentum() const { return kind != Kind::sgd || momentum > 0; }
  bool has_moments() const { return kind != Kind::sgd; }
  // The canonical text.
  std::string spec() const;
};

// Throws SpecError.
OptimiserOptions parse_optimiser(std::string_view text);

// Throws Error, with the reason, for an optimiser that contradicts what a method does.
void check_optimiser_fits(const MethodTraits& traits, const std::string& method,
                          const OptimiserOptions& optimiser, bool clips, bool has_regulariser);

// The settings that a method which owns moments takes over, for each of the tensors; empty where
// the optimiser has none.
std::vector<MomentSettings> moments_for(const OptimiserOptions& optimiser, std::size_t tensors);

// What is left for the trainer's optimiser to do behind such a method, or any other.
OptimiserOptions left_behind(const MethodTraits& traits, const OptimiserOptions& optimiser);

// Why a method and an optimiser may not get along, and what to take instead; empty if they do:
// outputs that an optimiser should not square, and models that move too far for plain gradients.
// `codec` is the one of the method's uplink, null if it has none.
std::string optimiser_warning(const MethodTraits& traits, const std::string& method,
                              const Codec* codec, const OptimiserOptions& optimiser);

class Optimiser {
 public:
  Optimiser(const OptimiserOptions& options, const convex::Regulariser& regulariser,
            std::size_t elements);

  // One step. `output` is used up.
  void step(MethodTraits::Output kind, double rate, std::span<float> output,
            std::span<float> parameters);

  // Everything that the next step depends on: vectors as long as the parameters, by their names,
  // and the number of steps.
  std::map<std::string, std::span<float>> memories();
  std::uint64_t steps() const { return steps_; }
  void set_steps(std::uint64_t steps) { steps_ = steps; }

 private:
  void step_sgd(float rate, std::span<float> gradient, std::span<float> parameters);
  void step_adam(double rate, std::span<float> gradient, std::span<float> parameters);

  OptimiserOptions options_;
  convex::Regulariser regulariser_;
  std::uint64_t steps_ = 0;
  std::vector<float> momentum_;
  std::vector<float> squares_;  // of adam
};

// Scales the gradient down to a norm of at most `norm_max`.
void clip_norm(std::span<float> gradient, double norm_max);

}  // namespace gradwire::train
