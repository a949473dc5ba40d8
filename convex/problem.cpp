#include "convex/problem.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "convex/sum.h"
#include "gradwire/core/error.h"

namespace gradwire::convex {
namespace {

// 1 / (1 + exp(-t)), without overflow.
double logistic(double t) {
  if (t >= 0) return 1 / (1 + std::exp(-t));
  const double e = std::exp(t);
  return e / (1 + e);
}

// log(1 + exp(t)), without overflow.
double softplus(double t) { return std::max(t, 0.0) + std::log1p(std::exp(-std::abs(t))); }

}  // namespace

const char* name(Loss loss) { return loss == Loss::logistic ? "logistic" : "least-squares"; }

std::optional<Loss> find_loss(std::string_view text) {
  for (const Loss loss : {Loss::logistic, Loss::least_squares}) {
    if (text == name(loss)) return loss;
  }
  return std::nullopt;
}

Loss loss_of(std::string_view text) {
  if (const auto loss = find_loss(text)) return *loss;
  throw Error("there is no model '" + std::string(text) + "': take logistic or least-squares");
}

double curvature_max(Loss loss) { return loss == Loss::logistic ? 0.25 : 1; }

double Problem::value(std::span<const double> x) const {
  Sum losses;
  const std::size_t rows = data_.rows.size();
  for (std::size_t i = 0; i < rows; ++i) losses.add(loss_of_row(i, x));
  return losses.value() / static_cast<double>(rows) + l2_ / 2 * squared_norm(x);
}

void Problem::gradient(std::span<const double> x, std::span<double> gradient) const {
  const std::size_t rows = data_.rows.size();
  const double share = 1 / static_cast<double>(rows);
  std::ranges::transform(x, gradient.begin(), [&](double coordinate) { return l2_ * coordinate; });
  for (std::size_t i = 0; i < rows; ++i) {
    add(data_.rows.row(i), share * slope_of_row(i, x), gradient);
  }
}

void Problem::gradient(RowNumbers rows, std::span<const double> x,
                       std::span<double> gradient) const {
  std::ranges::fill(gradient, 0);
  if (rows.empty()) return;
  std::ranges::transform(x, gradient.begin(), [&](double coordinate) { return l2_ * coordinate; });
  const double share = 1 / static_cast<double>(rows.size());
  for (const std::uint32_t i : rows) {
    add(data_.rows.row(i), share * slope_of_row(i, x), gradient);
  }
}

std::vector<double> Problem::curvatures(std::span<const double> x) const {
  std::vector<double> curvatures(data_.rows.size(), curvature_max(loss_));
  if (loss_ == Loss::least_squares) return curvatures;
  for (std::size_t i = 0; i < curvatures.size(); ++i) {
    const double p = logistic(dot(data_.rows.row(i), x));
    curvatures[i] = p * (1 - p);
  }
  return curvatures;
}

double Problem::loss_of_row(std::size_t row, std::span<const double> x) const {
  const double product = dot(data_.rows.row(row), x);
  const double label = data_.labels[row];
  if (loss_ == Loss::logistic) return softplus(-label * product);
  return (product - label) * (product - label) / 2;
}

double Problem::slope_of_row(std::size_t row, std::span<const double> x) const {
  const double product = dot(data_.rows.row(row), x);
  const double label = data_.labels[row];
  if (loss_ == Loss::logistic) return -label * logistic(-label * product);
  return product - label;
}

double smoothness(const data::Dataset& data, Loss loss, RowNumbers rows) {
  constexpr std::size_t kRoundsMax = 20'000;
  // Changes shrink slowly where the second eigenvalue is near the first, so the last one has to be
  // much smaller than the error that is allowed.
  constexpr double kChangeMax = 1e-10;
  if (rows.empty()) return 0;
  const std::size_t features = data.rows.features;
  std::vector<double> x(features);
  for (std::size_t j = 0; j < features; ++j) {
    x[j] = 1 + 0.5 * std::sin(static_cast<double>(j));  // orthogonal to nothing by accident
  }
  std::vector<double> product(features);
  double largest = 0;
  for (std::size_t round = 0; round < kRoundsMax; ++round) {
    const double length = norm(x);
    if (length == 0) return 0;
    for (double& coordinate : x) coordinate /= length;
    std::ranges::fill(product, 0);
    for (const std::uint32_t i : rows) {
      const data::SparseRow row = data.rows.row(i);
      add(row, dot(row, x), product);
    }
    const double before = largest;
    largest = norm(product);  // |A'A x|, at most the eigenvalue, and rising to it
    x.swap(product);
    if (largest - before <= kChangeMax * largest) break;
  }
  return curvature_max(loss) * largest / static_cast<double>(rows.size());
}

}  // namespace gradwire::convex
