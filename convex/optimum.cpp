#include "convex/optimum.h"

#include <limits>

#include "convex/sum.h"

namespace gradwire::convex {

double shortest_subgradient_squared(const Regulariser& regulariser, std::span<const double> x,
                                    std::span<const double> gradient) {
  Sum squares;
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double slope = regulariser.nearest_slope(x[j], gradient[j]);
    squares.add(slope * slope);
  }
  return squares.value();
}

Optimum judge(const Objective& objective, std::vector<double> x) {
  std::vector<double> gradient(x.size());
  objective.problem.gradient(x, gradient);
  const double squared = shortest_subgradient_squared(objective.regulariser, x, gradient);
  const double mu = objective.convexity();
  Optimum optimum{.x = std::move(x)};
  optimum.value = objective.value(optimum.x);
  optimum.is_proven = mu > 0;
  optimum.error = mu > 0         ? squared / (2 * mu)
                  : squared == 0 ? 0
                                 : std::numeric_limits<double>::infinity();
  return optimum;
}

Optimum find_optimum(const Objective& objective) {
  return objective.problem.features() <= kNewtonFeaturesMax
             ? find_optimum_by_newton(objective)
             : find_optimum_by_acceleration(objective);
}

}  // namespace gradwire::convex
