// The minimum of an objective, to 1e-14 and better, so that the distance to it can be told. Newton
// steps where the Hessian is small enough to be kept, accelerated steps beyond. Pure functions.
#pragma once

#include <cstddef>
#include <vector>

#include "convex/objective.h"

namespace gradwire::convex {

inline constexpr double kOptimumError = 1e-14;

struct Optimum {
  std::vector<double> x;
  double value = 0;

  // How far value may be above the minimum. Proven where the objective is strongly convex: by the
  // shortest subgradient at x. Otherwise an estimate, the decrease that the last model foresaw.
  double error = 0;
  bool is_proven = false;

  bool is_exact() const { return error <= kOptimumError; }
};

Optimum find_optimum(const Objective& objective);

// The two ways, apart.
inline constexpr std::size_t kNewtonFeaturesMax = 3000;
Optimum find_optimum_by_newton(const Objective& objective);
Optimum find_optimum_by_acceleration(const Objective& objective);

// The optimum that x would be.
Optimum judge(const Objective& objective, std::vector<double> x);

}  // namespace gradwire::convex
