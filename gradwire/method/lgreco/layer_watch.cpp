#include "gradwire/method/lgreco/layer_watch.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gradwire/core/error.h"
#include "gradwire/kernel/combine.h"
#include "gradwire/kernel/sums.h"
#include "gradwire/method/rate_unit.h"

namespace gradwire {
namespace {

constexpr const char* kAccumulated = "accumulated";
constexpr const char* kSteps = "accumulated steps";

}  // namespace

LayerWatch::LayerWatch(const std::vector<MethodTensor>& tensors, std::vector<std::size_t> layers,
                       std::size_t window)
    : tensors_(tensors),
      layers_(std::move(layers)),
      window_(window),
      layer_of_(tensors.size(), layers_.size()),
      sums_(layers_.size()) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layer_of_[layers_[i]] = i;
    sums_[i].resize(tensors[layers_[i]].elements());
  }
}

void LayerWatch::add(std::size_t tensor, std::span<const float> gradient, float weight) {
  const std::size_t layer = layer_of_[tensor];
  if (layer == layers_.size()) return;
  const std::span<float> sum = sums_[layer];
  // The first of a window overwrites what was there.
  kernel::combine(steps_ == 0 ? 0.0F : 1.0F, sum, weight / static_cast<float>(window_), gradient,
                  sum);
}

void LayerWatch::clear() {
  steps_ = 0;
  // What is not finite would outlive a multiplication by zero.
  for (std::vector<float>& sum : sums_) std::ranges::fill(sum, 0.0F);
}

void LayerWatch::rescale(float factor) {
  for (std::vector<float>& sum : sums_) {
    for (float& value : sum) value *= factor;
  }
}

std::vector<std::vector<float>> LayerWatch::with_errors(const MethodState& state,
                                                        const StepContext& context) const {
  std::vector<std::vector<float>> values = sums_;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const std::string& name = tensors_[layers_[i]].name;
    const StateArray* const error = find_array(state, "error", name);
    if (error == nullptr) continue;
    const float factor = ErrorUnit::load(state, name).factor(context.rate_of(layers_[i]));
    kernel::combine(1, values[i], factor, error->values, values[i]);
  }
  return values;
}

std::vector<double> LayerWatch::norms() const {
  std::vector<double> norms;
  for (const std::vector<float>& sum : sums_) {
    norms.push_back(std::sqrt(kernel::moments(sum).squares));
  }
  return norms;
}

void LayerWatch::save(MethodState& state) const {
  state.numbers[kSteps] = static_cast<double>(steps_);
  if (steps_ == 0) return;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    state.arrays.push_back({kAccumulated, tensors_[layers_[i]].name, Sharing::worker, 0, sums_[i]});
  }
}

void LayerWatch::check(const MethodState& state) const {
  const auto steps = state.numbers.find(kSteps);
  if (steps == state.numbers.end()) throw Error(std::string("the saved state has no ") + kSteps);
  if (steps->second == 0) return;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const std::string& name = tensors_[layers_[i]].name;
    const StateArray* const array = find_array(state, kAccumulated, name);
    if (array != nullptr && array->values.size() == sums_[i].size()) continue;
    throw Error("the saved state lacks the accumulated gradient of tensor '" + name + '\'');
  }
}

void LayerWatch::load(const MethodState& state) {
  clear();
  steps_ = static_cast<std::size_t>(saved_steps(state));
  if (steps_ == 0) return;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    sums_[i] = find_array(state, kAccumulated, tensors_[layers_[i]].name)->values;
  }
}

std::uint64_t LayerWatch::saved_steps(const MethodState& state) {
  const double steps = state.numbers.at(kSteps);
  return steps >= 0 && steps <= 0x1p53 ? static_cast<std::uint64_t>(steps)
                                       : std::numeric_limits<std::uint64_t>::max();
}

std::size_t LayerWatch::memory_bytes() const {
  std::size_t bytes = 0;
  for (const std::vector<float>& sum : sums_) bytes += sum.size() * sizeof(float);
  return bytes;
}

}  // namespace gradwire
