#include <ATen/ops/empty.h>

#include <functional>
#include <numeric>
#include <string>
#include <utility>

#include "gradwire/core/error.h"
#include "train/network.h"

namespace gradwire::train {
namespace {

// What specs can ask for has no other bound, and memory that is not there shows late.
constexpr std::int64_t kParameterElementsMax = std::int64_t{1} << 30;

}  // namespace

at::Tensor Layout::parameter(std::string name, at::IntArrayRef shape,
                             const InitialWeights& initial) {
  elements_ += std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  if (elements_ > kParameterElementsMax) {
    throw Error("the model is too large: it has more than " +
                std::to_string(kParameterElementsMax) + " parameters");
  }
  parameters_.push_back({std::move(name), at::empty(shape, at::kFloat), initial});
  return parameters_.back().tensor;
}

at::Tensor Layout::statistics(std::size_t elements, double initial) {
  statistics_.push_back({"", at::empty({static_cast<std::int64_t>(elements)}, at::kFloat),
                         InitialWeights::constant(initial)});
  return statistics_.back().tensor;
}

}  // namespace gradwire::train
