#include "gradwire/method/powersgd/group.h"

#include <algorithm>
#include <exception>
#include <limits>

#include "gradwire/collective/exchange_base.h"

namespace gradwire {

PowerSgdGroup::PowerSgdGroup(Communicator& communicator, const Setup& setup)
    : first_(setup.first), tensor_count_(setup.tensors.size()) {
  std::vector<TensorSize> left;
  std::vector<TensorSize> right;
  for (std::size_t i = 0; i < tensor_count_; ++i) {
    const MethodTensor& tensor = setup.tensors[i];
    const auto size = LowRankTensor::compressed_size(tensor, setup.ranks[i]);
    left.push_back({tensor.name, size ? size->left_elements() : tensor.elements()});
    matrix_of_.push_back(size ? std::optional(matrices_.size()) : std::nullopt);
    const std::size_t sent =
        size ? size->left_elements() + size->right_elements() : tensor.elements();
    tensor_bytes_.push_back(sent * sizeof(float));
    if (!size) continue;
    right.push_back({tensor.name, size->right_elements()});
    tensor_of_.push_back(i);
    matrices_.emplace_back(tensor.name, *size, setup.exchange.seed, setup.only_averages);
  }
  for (LowRankTensor& matrix : matrices_) {
    right_.values.push_back(matrix.own_right());
    right_.means.push_back(matrix.right());
  }
  left_.exchange = make_exchange(communicator, std::move(left), setup.exchange);
  if (!right.empty()) {
    right_.exchange = make_exchange(communicator, std::move(right), setup.exchange);
  }
}

void PowerSgdGroup::submit(std::span<float> gradient, const StepContext& context,
                           MethodReport& report) {
  const std::size_t tensor = gradients_.size();
  const auto matrix = matrix_of_[tensor];
  gradients_.push_back(gradient);
  {
    const StopWatch watch(report.phases.encode_seconds);
    if (matrix) {
      matrices_[*matrix].prepare(gradient, context.weight, context.rate_of(first_ + tensor));
    } else if (context.weight != 1) {
      for (float& value : gradient) value *= context.weight;
    }
  }
  const std::span<float> sent = matrix ? matrices_[*matrix].left() : gradient;
  left_.values.push_back(sent);
  left_.means.push_back(sent);
  if (gradients_.size() == tensor_count_) start(left_, context);
}

void PowerSgdGroup::start_right(const StepContext& context, MethodReport& report) {
  if (!finish(left_, report)) return poison();
  if (!right_.exchange) return;
  {
    const StopWatch watch(report.phases.encode_seconds);
    for (std::size_t i = 0; i < matrices_.size(); ++i) {
      matrices_[i].project(gradients_[tensor_of_[i]], context.step);
    }
  }
  start(right_, context);
}

void PowerSgdGroup::settle(const StepContext& context, MethodReport& report) {
  if (right_.is_started) {
    if (finish(right_, report)) {
      const StopWatch watch(report.phases.decode_seconds);
      for (std::size_t i = 0; i < matrices_.size(); ++i) {
        const std::size_t tensor = tensor_of_[i];
        matrices_[i].settle(gradients_[tensor], context.rate_of(first_ + tensor));
      }
    } else {
      poison();
    }
  }
  forget();
}

void PowerSgdGroup::abandon() {
  for (Mean* const mean : {&left_, &right_}) {
    if (!mean->is_started) continue;
    MethodReport ignored;
    try {
      finish(*mean, ignored);
    } catch (const std::exception&) {
    }
  }
  forget();
}

void PowerSgdGroup::forget() {
  gradients_.clear();
  left_.values.clear();
  left_.means.clear();
}

void PowerSgdGroup::start(Mean& mean, const StepContext& context) {
  mean.exchange->start({.step = context.step, .values = mean.values, .means = mean.means});
  mean.is_started = true;
}

bool PowerSgdGroup::finish(Mean& mean, MethodReport& report) {
  mean.is_started = false;
  const ExchangeReport took = mean.exchange->finish();
  report.add(took);
  return !took.poisoned;
}

void PowerSgdGroup::poison() {
  for (const std::span<float> gradient : gradients_) {
    std::ranges::fill(gradient, std::numeric_limits<float>::quiet_NaN());
  }
}

}  // namespace gradwire
