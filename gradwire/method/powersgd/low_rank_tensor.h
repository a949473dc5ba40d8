// LowRankTensor: one rank's half of powersgd for one matrix, with its memory: the error that it has
// not sent yet, and the factor that the next step starts from. It does the steps between the means;
// who averages is not its matter. For one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gradwire/method/method.h"
#include "gradwire/method/powersgd/matrix.h"
#include "gradwire/method/rate_unit.h"
#include "gradwire/method/state.h"

namespace gradwire {

class LowRankTensor {
 public:
  // A silent rank gives no gradients and has no error, but gets the results.
  LowRankTensor(std::string name, const MatrixSize& size, std::uint64_t seed, bool only_averages);

  // The size of the tensor's factors; nothing if it would not gain by them.
  static std::optional<MatrixSize> compressed_size(const MethodTensor& tensor, std::size_t rank);

  // M_i = weight g_i + e_i, which takes the gradient's place until settle(), and P_i = M_i Q.
  void prepare(std::span<float> gradient, float weight, double learning_rate);
  // To be replaced by its mean.
  std::span<float> left() { return left_; }

  // P is orthonormalised; Q_i = M_i^T P.
  void project(std::span<const float> matrix, std::uint64_t step);
  std::span<const float> own_right() const { return own_right_; }
  // Where the mean of that is to go.
  std::span<float> right() { return right_; }

  // out = P Q^T in place of M_i; e_i = M_i - P Q_i^T; and Q is the next step's. Before this nothing
  // that is remembered changes.
  void settle(std::span<float> matrix, double learning_rate);

  void rescale(float factor);
  void save(MethodState& state) const;
  // Whether the state has what this tensor needs; throws Error with what it lacks.
  void check(const MethodState& state) const;
  // After check().
  void load(const MethodState& state);
  std::size_t memory_bytes() const;

 private:
  void fill_random(std::uint64_t step, std::uint32_t stage, std::span<float> values) const;

  std::string name_;
  MatrixSize size_;
  std::uint64_t seed_;
  bool only_averages_;

  std::vector<float> error_;
  ErrorUnit unit_;  // of the error
  std::vector<float> warm_start_;

  std::vector<float> left_;       // P_i, then P
  std::vector<float> own_right_;  // Q_i
  std::vector<float> right_;      // Q
};

}  // namespace gradwire
