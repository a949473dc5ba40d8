#include "gradwire/method/powersgd/low_rank_tensor.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "gradwire/core/error.h"
#include "gradwire/core/random.h"
#include "gradwire/kernel/combine.h"
#include "gradwire/kernel/sums.h"

namespace gradwire {
namespace {

constexpr const char* kError = "error";
constexpr const char* kWarmStart = "warm start";

// Of random numbers: what the first step starts from, and columns that replace others.
constexpr std::uint32_t kStartStage = 0;
constexpr std::uint32_t kFreshStage = 1;
constexpr std::uint32_t kAttemptsMax = 256;

// Products of what is below stay finite, however they are added up.
constexpr float kBeyond = 0x1p96F;

}  // namespace

LowRankTensor::LowRankTensor(std::string name, const MatrixSize& size, std::uint64_t seed,
                             bool only_averages)
    : name_(std::move(name)),
      size_(size),
      seed_(seed),
      only_averages_(only_averages),
      error_(only_averages ? 0 : size.elements()),
      warm_start_(size.right_elements()),
      left_(size.left_elements()),
      own_right_(size.right_elements()),
      right_(size.right_elements()) {
  fill_random(0, kStartStage, warm_start_);
  normalise(size_.columns, warm_start_);
}

std::optional<MatrixSize> LowRankTensor::compressed_size(const MethodTensor& tensor,
                                                         std::size_t rank) {
  if (tensor.shape.size() < 2) return std::nullopt;
  MatrixSize size{.rows = tensor.shape.front(), .columns = 1, .rank = 0};
  for (std::size_t i = 1; i < tensor.shape.size(); ++i) size.columns *= tensor.shape[i];
  size.rank = std::min({rank, size.rows, size.columns});
  if (size.rank == 0) return std::nullopt;
  if (size.left_elements() + size.right_elements() >= size.elements()) return std::nullopt;
  return size;
}

void LowRankTensor::prepare(std::span<float> gradient, float weight, double learning_rate) {
  if (only_averages_) return;
  kernel::combine(weight, gradient, unit_.factor(learning_rate), error_, gradient);
  if (kernel::largest_magnitude(gradient) >= std::bit_cast<std::uint32_t>(kBeyond)) {
    std::ranges::fill(left_, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  multiply(size_, gradient, warm_start_, left_);
}

void LowRankTensor::project(std::span<const float> matrix, std::uint64_t step) {
  orthonormalise(size_.rows, left_,
                 [&](std::size_t column, std::size_t attempt, std::span<float> values) {
                   const auto stage = kFreshStage + kAttemptsMax * column + attempt;
                   fill_random(step, static_cast<std::uint32_t>(stage), values);
                 });
  if (!only_averages_) multiply_transposed(size_, matrix, left_, own_right_);
}

void LowRankTensor::settle(std::span<float> matrix, double learning_rate) {
  // With the rank's own Q_i: with the mean's Q the errors would grow without bound.
  if (!only_averages_) subtract_product(size_, matrix, left_, own_right_, error_);
  multiply_out(size_, left_, right_, matrix);
  unit_.commit(learning_rate);
  // Only directions count, and of length 1 they neither overflow nor vanish in the next product.
  std::ranges::copy(right_, warm_start_.begin());
  normalise(size_.columns, warm_start_);
}

void LowRankTensor::rescale(float factor) {
  for (float& value : error_) value *= factor;
}

void LowRankTensor::save(MethodState& state) const {
  if (!only_averages_) state.arrays.push_back({kError, name_, Sharing::worker, 0, error_});
  state.arrays.push_back({kWarmStart, name_, Sharing::replicated, 0, warm_start_});
  unit_.save(state, name_);
}

void LowRankTensor::check(const MethodState& state) const {
  if (!only_averages_) whole_array(state, kError, name_, error_.size());
  whole_array(state, kWarmStart, name_, warm_start_.size());
  if (!state.numbers.contains(rate_key(name_))) {
    throw Error("the saved state has no '" + rate_key(name_) + '\'');
  }
}

void LowRankTensor::load(const MethodState& state) {
  if (!only_averages_) error_ = whole_array(state, kError, name_, error_.size()).values;
  warm_start_ = whole_array(state, kWarmStart, name_, warm_start_.size()).values;
  unit_ = ErrorUnit::load(state, name_);
}

std::size_t LowRankTensor::memory_bytes() const {
  const std::size_t elements =
      error_.size() + warm_start_.size() + left_.size() + own_right_.size() + right_.size();
  return elements * sizeof(float);
}

void LowRankTensor::fill_random(std::uint64_t step, std::uint32_t stage,
                                std::span<float> values) const {
  const Rng rng{.seed = seed_, .step = step, .tensor = Rng::tensor_id(name_)};
  const RandomStream random = rng.shared().stream(stage, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto number = static_cast<std::int32_t>(random.at(static_cast<std::uint32_t>(i)));
    values[i] = static_cast<float>(number) * 0x1p-31F;
  }
}

}  // namespace gradwire
