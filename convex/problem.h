// Problem: the smooth part of what is minimised, a mean of losses over rows and l2/2 |x|^2:
//
//   logistic        log(1 + exp(-b <a, x>))      labels b are -1 and 1
//   least_squares   (<a, x> - b)^2 / 2
//
// Over all rows that is f; over a worker's rows, f_i, and f is the mean of the f_i weighted by the
// shards' sizes. Everything is in double. Immutable, and safe from any thread; the dataset must
// outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "data/dataset.h"

namespace gradwire::convex {

enum class Loss { logistic, least_squares };

// "logistic" or "least-squares".
const char* name(Loss loss);
// Nothing for another name, which loss_of throws Error for.
std::optional<Loss> find_loss(std::string_view name);
Loss loss_of(std::string_view name);

// The second derivative of the loss, by <a, x>, is at most that.
double curvature_max(Loss loss);

using RowNumbers = std::span<const std::uint32_t>;

class Problem {
 public:
  Problem(const data::Dataset& data, Loss loss, double l2) : data_(data), loss_(loss), l2_(l2) {}

  const data::Dataset& data() const { return data_; }
  Loss loss() const { return loss_; }
  double l2() const { return l2_; }
  std::size_t features() const { return data_.rows.features; }

  // f, rounded about once: differences of 1e-15 count.
  double value(std::span<const double> x) const;
  void gradient(std::span<const double> x, std::span<double> gradient) const;

  // Of the mean over some rows, which may repeat. Over no rows it is zero.
  void gradient(RowNumbers rows, std::span<const double> x, std::span<double> gradient) const;

  // The second derivatives of all rows' losses by <a, x>.
  std::vector<double> curvatures(std::span<const double> x) const;

 private:
  double loss_of_row(std::size_t row, std::span<const double> x) const;
  double slope_of_row(std::size_t row, std::span<const double> x) const;

  const data::Dataset& data_;
  Loss loss_;
  double l2_;
};

// The least L for which the mean of the losses over these rows, without l2, is L-smooth, or for
// logistic the bound of it that holds at every x. Found to 1e-6 by power iteration; 0 for no rows.
double smoothness(const data::Dataset& data, Loss loss, RowNumbers rows);

}  // namespace gradwire::convex
