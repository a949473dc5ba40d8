#include "gradwire/method/local/repeatable_round.h"

#include <utility>

#include "gradwire/method/state.h"
#include "gradwire/method/step_order.h"

namespace gradwire {
namespace {

constexpr const char* kMomentum = "outer momentum";

StepContext with_rate(const StepContext& context, double rate) {
  return {.step = context.step, .learning_rate = rate, .weight = context.weight};
}

}  // namespace

RepeatableRound::RepeatableRound(std::string spec, const MethodTraits& traits,
                                 const OuterStep& outer, std::vector<MethodTensor> tensors,
                                 std::unique_ptr<RepeatableMethod> exchange)
    : spec_(std::move(spec)),
      traits_(traits),
      outer_(outer),
      tensors_(std::move(tensors)),
      exchange_(std::move(exchange)),
      outputs_(tensors_.size()) {
  if (outer_.momentum > 0) {
    momentum_.emplace(kMomentum, Sharing::replicated, tensors_, MemoryUnit::parameter);
  }
}

// --- A round's end ---

void RepeatableRound::begin(const StepContext& context) { exchange_->begin(with_rate(context, 1)); }

void RepeatableRound::submit(std::size_t tensor, std::span<float> moved) {
  exchange_->submit(tensor, moved);
  outputs_[tensor] = moved;
}

MethodReport RepeatableRound::finish() {
  const MethodReport report = exchange_->finish();
  scale(report);
  return report;
}

MethodReport RepeatableRound::replay(const StepContext& context,
                                     std::span<const std::vector<std::byte>> results,
                                     std::span<const std::span<float>> outputs) {
  // A rate of 0 leaves this worker's own memories alone.
  const MethodReport report = exchange_->replay(with_rate(context, 0), results, outputs);
  outputs_.assign(outputs.begin(), outputs.end());
  scale(report);
  return report;
}

// From the mean to what is subtracted. A poisoned exchange stays without effect.
void RepeatableRound::scale(const MethodReport& report) {
  if (report.poisoned > 0) return;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    outer_.scale(outputs_[i], momentum_
                                  ? momentum_->at({.tensor = i, .elements = tensors_[i].elements()})
                                  : std::span<float>());
  }
}

// --- What is kept ---

void RepeatableRound::take_over(const MethodState& before, const Regrouping& how) {
  exchange_->take_over(before, how);
  if (!momentum_ || find_array(before, kMomentum, tensors_.front().name) == nullptr) return;
  momentum_->check(before);
  momentum_->load(before);
}

MethodState RepeatableRound::save() const {
  MethodState state = exchange_->save();
  state.spec = spec_;
  if (momentum_) momentum_->save(state);
  return state;
}

void RepeatableRound::load(const MethodState& state) {
  MethodState ours = exchange_->save();
  ours.spec = spec_;
  check_state_fits(ours, state);
  if (momentum_) momentum_->check(state);
  MethodState inner = state;
  inner.spec = exchange_->spec();
  std::erase_if(inner.arrays, [](const StateArray& array) { return array.memory == kMomentum; });
  exchange_->load(inner);
  if (momentum_) momentum_->load(state);
}

// Movements do not change with the scale of the loss.
void RepeatableRound::rescale(float factor) { check_rescale(factor); }

std::size_t RepeatableRound::memory_bytes() const {
  return exchange_->memory_bytes() + (momentum_ ? momentum_->bytes() : 0);
}

}  // namespace gradwire
