// How long a step is. Pure functions.
//
// The automatic step is the longest for which convergence is known for the method, its codecs and
// the number of workers, by proof or, for lazy methods and rounded downlinks, by trial; where
// nothing is known, it is 1/L.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "gradwire/codec/guarantee.h"
#include "gradwire/collective/topology.h"

namespace gradwire::convex {

// What a step size depends on.
struct StepFacts {
  double smoothness = 0;  // L: of the worst worker's f_i, its weight included
  double convexity = 0;   // mu
  std::size_t workers = 1;
};

// What a method's spec says about the noise that it adds.
struct MethodNoise {
  enum class Family { direct, diana, ef21, lazy, other };

  Family family = Family::other;
  Guarantee up = Guarantee::none("");
  std::optional<Guarantee> down = {};  // nothing: what comes down is exact
  bool is_shared = false;              // all workers' noise is the same: it does not average
  double momentum = 0;                 // that lengthens steps by 1 / (1 - momentum)
  double delay = 0;                    // steps for which an upload may be used again
};

// The spec is a method's canonical one; `topology` is the one that it runs on.
MethodNoise method_noise(std::string_view spec, Topology topology, std::size_t elements,
                         std::size_t ranks);

double automatic_step(const StepFacts& facts, const MethodNoise& noise);

// "auto", "0.05", or "0.5/L".
struct StepRule {
  enum class Kind { automatic, number, per_smoothness };

  Kind kind = Kind::automatic;
  double number = 0;
};

// "0.01", or "L/100", with L the smoothness of the mean of the losses over all rows.
struct L2Rule {
  double number = 0;
  bool divides_smoothness = false;

  double value(double smoothness) const {
    return divides_smoothness ? smoothness / number : number;
  }
};

// Throw Error that says what is understood.
StepRule parse_step_rule(std::string_view text);
L2Rule parse_l2_rule(std::string_view text);

}  // namespace gradwire::convex
