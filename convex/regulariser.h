// Regulariser: the part R of the objective that steps meet by its prox. It is separable, and one
// formula covers all kinds:
//
//   R(x) = l1 |x|_1 + l2/2 |x|^2, and infinite where some x_j is not in [low, high]
//
//   none, l1(a), l2(a), elastic(l1=a, l2=b), box(low=a, high=b), or box(r) for [-r, r]
//
// Value type.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace gradwire::convex {

struct Regulariser {
  double l1 = 0;
  double l2 = 0;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  // The canonical text.
  std::string spec() const;

  // Bounds may be overstepped by the rounding of a float.
  double value(std::span<const double> x) const;

  // The y that minimises R(y) + (y - v)^2 / (2 step), for one coordinate.
  double prox(double v, double step) const;

  // Of all numbers that are slope + a subgradient of R at this coordinate, the one nearest to zero:
  // where all are zero, and slopes are those of a convex f, x minimises f + R.
  double nearest_slope(double x, double slope) const;

  // No l1 and no bounds.
  bool is_smooth() const;
  // R is 0 everywhere.
  bool is_zero() const { return is_smooth() && l2 == 0; }
};

// Throws SpecError.
Regulariser parse_regulariser(std::string_view text);

}  // namespace gradwire::convex
