// Objective: f + R, what training minimises, and how far a point is from its minimum. Refers to the
// problem, which must outlive it.
#pragma once

#include <span>
#include <vector>

#include "convex/problem.h"
#include "convex/regulariser.h"

namespace gradwire::convex {

struct Objective {
  const Problem& problem;
  Regulariser regulariser;

  double value(std::span<const double> x) const { return problem.value(x) + regulariser.value(x); }

  // The strong convexity that is known: that of the l2 terms.
  double convexity() const { return problem.l2() + regulariser.l2; }
};

// The squared length of the shortest subgradient of the objective at x, where f's gradient is
// known. With strong convexity mu, value(x) is at most that / (2 mu) above the minimum.
double shortest_subgradient_squared(const Regulariser& regulariser, std::span<const double> x,
                                    std::span<const double> gradient);

}  // namespace gradwire::convex
