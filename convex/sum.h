// Sums that are rounded about once, however many terms they have. Header only.
#pragma once

#include <cmath>
#include <span>

namespace gradwire::convex {

// Neumaier's sum: what is lost in each addition is kept beside it.
class Sum {
 public:
  void add(double term) {
    const double sum = sum_ + term;
    lost_ += std::abs(sum_) >= std::abs(term) ? (sum_ - sum) + term : (term - sum) + sum_;
    sum_ = sum;
  }
  double value() const { return sum_ + lost_; }

 private:
  double sum_ = 0;
  double lost_ = 0;
};

inline double squared_norm(std::span<const double> x) {
  Sum sum;
  for (const double coordinate : x) sum.add(coordinate * coordinate);
  return sum.value();
}

inline double norm(std::span<const double> x) { return std::sqrt(squared_norm(x)); }

}  // namespace gradwire::convex
