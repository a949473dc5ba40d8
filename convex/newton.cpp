// Proximal Newton: every step minimises the quadratic model of f, plus R as it is, and goes as far
// towards that point as the objective falls.
#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "convex/optimum.h"

namespace gradwire::convex {
namespace {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

constexpr std::size_t kStepsMax = 200;
constexpr std::size_t kSweepsMax = 2000;
// Both are far below what is asked for: near the optimum a step squares the error, so it is cheap.
constexpr double kErrorWanted = 1e-18;
constexpr double kSlopeShare = 1e-4;  // to which the model's slope is brought down, of f's own
// Times the largest diagonal element: keeps a model solvable where the data do not determine x.
constexpr double kRidge = 1e-13;

std::span<const double> span_of(const Vector& x) {
  return {x.data(), static_cast<std::size_t>(x.size())};
}

Matrix hessian(const Problem& problem, const Vector& x) {
  const auto features = static_cast<Eigen::Index>(problem.features());
  Matrix lower = Matrix::Zero(features, features);
  const std::vector<double> curvatures = problem.curvatures(span_of(x));
  const double share = 1 / static_cast<double>(curvatures.size());
  for (std::size_t i = 0; i < curvatures.size(); ++i) {
    const data::SparseRow row = problem.data().rows.row(i);
    for (std::size_t a = 0; a < row.columns.size(); ++a) {
      const double factor = share * curvatures[i] * row.values[a];
      for (std::size_t b = a; b < row.columns.size(); ++b) {
        lower(row.columns[b], row.columns[a]) += factor * row.values[b];
      }
    }
  }
  Matrix whole = lower.selfadjointView<Eigen::Lower>();
  whole.diagonal().array() += problem.l2() + kRidge * (whole.diagonal().maxCoeff() + 1e-300);
  return whole;
}

// The model around x: its slopes at y are gradient + hessian (y - x).
struct Model {
  const Regulariser& regulariser;
  const Matrix& hessian;
  const Vector& x;
  const Vector& gradient;
};

Vector minimise_smooth(const Model& model) {
  Matrix whole = model.hessian;
  whole.diagonal().array() += model.regulariser.l2;
  return model.x - whole.ldlt().solve(model.gradient + model.regulariser.l2 * model.x);
}

// Coordinate after coordinate, each to its minimum, which is a prox.
Vector minimise_by_coordinates(const Model& model) {
  const Regulariser& regulariser = model.regulariser;
  Vector y = model.x;
  Vector slopes = model.gradient;
  const double start = shortest_subgradient_squared(regulariser, span_of(y), span_of(slopes));
  for (std::size_t sweep = 0; sweep < kSweepsMax; ++sweep) {
    for (Eigen::Index j = 0; j < y.size(); ++j) {
      const double curvature = model.hessian(j, j);
      const double better = regulariser.prox(y[j] - slopes[j] / curvature, 1 / curvature);
      if (better == y[j]) continue;
      slopes += (better - y[j]) * model.hessian.col(j);
      y[j] = better;
    }
    const double now = shortest_subgradient_squared(regulariser, span_of(y), span_of(slopes));
    if (now <= kSlopeShare * kSlopeShare * start) break;
  }
  return y;
}

// What is left to solve once it is known which coordinates are at a kink or a bound: a linear
// system of the others. Coordinates alone come to its solution slowly where data are nearly
// dependent. Gives y back where the solution would cross a kink or a bound.
Vector polish(const Model& model, Vector y) {
  const Regulariser& regulariser = model.regulariser;
  std::vector<Eigen::Index> free;
  for (Eigen::Index j = 0; j < y.size(); ++j) {
    const bool at_kink = y[j] == 0 && regulariser.l1 != 0;
    if (!at_kink && regulariser.low < y[j] && y[j] < regulariser.high) free.push_back(j);
  }
  Vector slopes = model.gradient + model.hessian * (y - model.x) + regulariser.l2 * y;
  for (Eigen::Index j = 0; j < y.size(); ++j) slopes[j] += std::copysign(regulariser.l1, y[j]);
  Matrix system = model.hessian(free, free);
  system.diagonal().array() += regulariser.l2;
  const Vector change = system.ldlt().solve(slopes(free));
  Vector polished = y;
  for (std::size_t i = 0; i < free.size(); ++i) {
    double& target = polished[free[i]];
    target -= change[static_cast<Eigen::Index>(i)];
    const bool crossed = regulariser.l1 != 0 && target * y[free[i]] <= 0;
    const bool is_inside = regulariser.low < target && target < regulariser.high;
    if (crossed || !is_inside) return y;
  }
  return polished;
}

// How much the model says that the objective falls from x to y, to first order in f.
double foreseen_decrease(const Model& model, const Vector& y) {
  return -model.gradient.dot(y - model.x) - model.regulariser.value(span_of(y)) +
         model.regulariser.value(span_of(model.x));
}

// Goes from x towards y, by halves until the objective falls enough. Returns whether it did.
bool step_towards(const Objective& objective, Vector& x, const Vector& y, double decrease) {
  constexpr double kEnough = 1e-4;
  constexpr int kHalvesMax = 40;
  const double before = objective.value(span_of(x));
  // Near the minimum the decrease drowns in the rounding of the values.
  const double rounding = 4 * std::numeric_limits<double>::epsilon() * std::abs(before);
  double share = 1;
  for (int i = 0; i < kHalvesMax; ++i, share /= 2) {
    const Vector candidate = i == 0 ? y : Vector(x + share * (y - x));
    const double value = objective.value(span_of(candidate));
    if (value <= before - kEnough * share * decrease + rounding) {
      x = candidate;
      return true;
    }
  }
  return false;
}

}  // namespace

Optimum find_optimum_by_newton(const Objective& objective) {
  const Regulariser& regulariser = objective.regulariser;
  const double mu = objective.convexity();
  Vector x = Vector::Constant(static_cast<Eigen::Index>(objective.problem.features()),
                              regulariser.prox(0, 1));
  Vector gradient(x.size());
  double decrease = std::numeric_limits<double>::infinity();
  double squared_least = std::numeric_limits<double>::infinity();
  Vector best = x;
  for (std::size_t step = 0; step < kStepsMax; ++step) {
    objective.problem.gradient(span_of(x), {gradient.data(), objective.problem.features()});
    const double squared = shortest_subgradient_squared(regulariser, span_of(x), span_of(gradient));
    if (squared < squared_least) {
      squared_least = squared;
      best = x;
    }
    if (squared == 0 || (mu > 0 && squared / (2 * mu) <= kErrorWanted)) break;
    const Matrix second = hessian(objective.problem, x);
    const Model model{regulariser, second, x, gradient};
    const Vector y = regulariser.is_smooth() ? minimise_smooth(model)
                                             : polish(model, minimise_by_coordinates(model));
    decrease = std::abs(foreseen_decrease(model, y));
    if (mu == 0 && decrease <= kErrorWanted) break;
    if (!step_towards(objective, x, y, decrease)) break;
  }
  Optimum optimum = judge(objective, {best.begin(), best.end()});
  if (!optimum.is_proven) optimum.error = std::min(optimum.error, decrease);
  return optimum;
}

}  // namespace gradwire::convex
