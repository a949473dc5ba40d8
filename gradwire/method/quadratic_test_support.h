// For tests: workers with strongly convex quadratics whose optima differ, and all that is known of
// them: f_i(x) = 1/2 (x - b_i)^T A_i (x - b_i). In double.
#pragma once

#include <Eigen/Dense>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gradwire/codec/test_support.h"

namespace gradwire {

struct QuadraticOptions {
  std::size_t workers = 4;
  std::size_t elements = 64;
  double smoothness = 8;  // L of every worker; mu is 1
  std::uint64_t seed = 5;
};

class Quadratics {
 public:
  explicit Quadratics(const QuadraticOptions& options) : options_(options) {
    const auto n = static_cast<Eigen::Index>(options.elements);
    mean_ = Eigen::MatrixXd::Zero(n, n);
    Eigen::VectorXd right = Eigen::VectorXd::Zero(n);
    for (std::size_t i = 0; i < options.workers; ++i) {
      matrices_.push_back(random_matrix(2 * i));
      centres_.push_back(random_vector(options.elements, 2 * i + 1));
      mean_ += matrices_.back() / static_cast<double>(options.workers);
      right += matrices_.back() * centres_.back() / static_cast<double>(options.workers);
    }
    optimum_ = mean_.ldlt().solve(right);
  }

  double smoothness() const { return options_.smoothness; }
  double convexity() const { return 1; }
  std::size_t workers() const { return options_.workers; }
  std::size_t elements() const { return options_.elements; }
  const Eigen::VectorXd& optimum() const { return optimum_; }

  Eigen::VectorXd gradient(std::size_t worker, const Eigen::VectorXd& x) const {
    return matrices_[worker] * (x - centres_[worker]);
  }
  std::vector<float> gradient(std::size_t worker, std::span<const float> x) const {
    return to_floats(gradient(worker, to_vector(x)));
  }
  Eigen::VectorXd mean_gradient(const Eigen::VectorXd& x) const { return mean_ * (x - optimum_); }

  // f(x) - f*
  double excess(std::span<const float> x) const {
    const Eigen::VectorXd away = to_vector(x) - optimum_;
    return away.dot(mean_ * away) / 2;
  }

  static Eigen::VectorXd to_vector(std::span<const float> x) {
    return Eigen::Map<const Eigen::VectorXf>(x.data(), static_cast<Eigen::Index>(x.size()))
        .cast<double>();
  }
  static std::vector<float> to_floats(const Eigen::VectorXd& x) {
    std::vector<float> floats(static_cast<std::size_t>(x.size()));
    for (Eigen::Index i = 0; i < x.size(); ++i) floats[std::size_t(i)] = float(x[i]);
    return floats;
  }

 private:
  Eigen::VectorXd random_vector(std::size_t n, std::uint64_t number) const {
    return to_vector(gaussian(n, 1000 * options_.seed + number));
  }

  // Eigenvalues from mu to L, even on a log scale, along random directions.
  Eigen::MatrixXd random_matrix(std::uint64_t number) const {
    const auto n = static_cast<Eigen::Index>(options_.elements);
    const Eigen::VectorXd entries = random_vector(options_.elements * options_.elements, number);
    const Eigen::MatrixXd q =
        Eigen::MatrixXd(entries.reshaped(n, n)).householderQr().householderQ();
    const Eigen::VectorXd eigenvalues =
        Eigen::VectorXd::LinSpaced(n, 0, std::log(options_.smoothness)).array().exp();
    return q * eigenvalues.asDiagonal() * q.transpose();
  }

  QuadraticOptions options_;
  std::vector<Eigen::MatrixXd> matrices_;
  std::vector<Eigen::VectorXd> centres_;
  Eigen::MatrixXd mean_;
  Eigen::VectorXd optimum_;
};

}  // namespace gradwire
