// Accelerated proximal gradient steps that start anew when they overshoot (O'Donoghue and Candes,
// 2015): for problems with too many features to keep a Hessian.
#include <algorithm>
#include <cmath>
#include <limits>

#include "convex/optimum.h"

namespace gradwire::convex {

Optimum find_optimum_by_acceleration(const Objective& objective) {
  constexpr std::size_t kStepsMax = 200'000;
  constexpr double kErrorWanted = kOptimumError / 10;
  const Problem& problem = objective.problem;
  const Regulariser& regulariser = objective.regulariser;
  const std::size_t features = problem.features();
  // A little less than 1/L, which is known to 1e-6 only.
  const double step =
      0.9999 / (smoothness(problem.data(), problem.loss(), data::all_rows(problem.data())) +
                problem.l2() + 1e-300);
  const double mu = objective.convexity();
  std::vector<double> x(features, regulariser.prox(0, 1));
  std::vector<double> y = x;
  std::vector<double> next(features);
  std::vector<double> gradient(features);
  double momentum = 1;
  for (std::size_t i = 0; i < kStepsMax; ++i) {
    problem.gradient(y, gradient);
    if (mu > 0) {
      const double squared = shortest_subgradient_squared(regulariser, y, gradient);
      if (squared / (2 * mu) <= kErrorWanted) return judge(objective, std::move(y));
    }
    double overshoot = 0;
    double change_max = 0;
    for (std::size_t j = 0; j < features; ++j) {
      next[j] = regulariser.prox(y[j] - step * gradient[j], step);
      overshoot += (y[j] - next[j]) * (next[j] - x[j]);
      change_max = std::max(change_max, std::abs(next[j] - y[j]));
    }
    if (change_max == 0) break;
    const double momentum_next =
        overshoot > 0 ? 1 : (1 + std::sqrt(1 + 4 * momentum * momentum)) / 2;
    const double ahead = overshoot > 0 ? 0 : (momentum - 1) / momentum_next;
    for (std::size_t j = 0; j < features; ++j) y[j] = next[j] + ahead * (next[j] - x[j]);
    x.swap(next);
    momentum = momentum_next;
  }
  return judge(objective, std::move(x));
}

}  // namespace gradwire::convex
