// The longest step of gradient descent for which a method is known to converge, by proof or, for
// lazy methods and rounded downlinks, by trial. This header has the terms; each rule's file has the
// rule's own formula. Pure functions.
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
  double smoothness = 0;  // L: of the worst worker's f_i, its weight included
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
  std::optional<Guarantee> down = {};  // null: the mean comes down exact
  double averaged_over = 1;            // workers whose noise is independent
};
StepNoise step_noise(const Codec& up, const Codec& down, const StepFacts& facts);

// A rule's formula.
using SafeStep = std::function<double(const StepFacts&, const StepNoise&)>;

// 1/L: for methods about which nothing more is known.
double usual_step(const StepFacts& facts);

// A contractive codec's delta. An unbiased codec has one as it is, or scaled by 1/(1 + omega).
std::optional<double> contraction(const Guarantee& guarantee);

// EF21's constants, for a memory that leaves 1 - T = sqrt(1 - delta) of the error in a step.
struct Ef21Constants {
  explicit Ef21Constants(double delta);
  double factor() const;  // by which it shortens steps
  double t;
  double b;
};

}  // namespace gradwire
