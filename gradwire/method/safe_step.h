// The largest step size of gradient descent with which a method converges: from proofs, and from
// experiments for lazy methods and rounded downlinks. This header has the common terms; each rule's
// file has the formula of the rule. Pure functions.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "gradwire/codec/codec.h"
#include "gradwire/codec/guarantee.h"
#include "gradwire/collective/topology.h"

namespace gradwire {

// The problem, and the ranks that work on it.
struct StepFacts {
  double smoothness = 0;  // L, the largest over the workers, weights included
  double convexity = 0;   // mu
  std::size_t workers = 1;

  // How the method runs.
  std::size_t ranks = 1;
  std::size_t elements = 0;
  Topology topology = Topology::gather;  // the one in use, not automatic
};

// The noise that a method's codecs add on a topology.
struct StepNoise {
  Guarantee up = Guarantee::none("");
  std::optional<Guarantee> down = {};  // empty: the downlink is exact
  double averaged_over = 1;            // workers whose noise is independent
};
StepNoise step_noise(const Codec& up, const Codec& down, const StepFacts& facts);

// A rule's formula.
using SafeStep = std::function<double(const StepFacts&, const StepNoise&)>;

// 1/L: for methods without a formula of their own.
double usual_step(const StepFacts& facts);

// The delta of a contractive codec, or of an unbiased codec that is scaled by 1/(1 + omega).
std::optional<double> contraction(const Guarantee& guarantee);

// The constants of EF21's proof. One step leaves 1 - T = sqrt(1 - delta) of the error.
struct Ef21Constants {
  explicit Ef21Constants(double delta);
  double factor() const;  // step sizes are divided by it
  double t;
  double b;
};

}  // namespace gradwire
