#include "reproduce/recorded_layers.h"

#include <array>

#include "gradwire/kernel/sums.h"
#include "record/gradient_files.h"

namespace gradwire::reproduce {

RecordedLayers read_layers(const std::filesystem::path& gradients,
                           const std::filesystem::path& shapes, Family family) {
  const std::vector<MethodTensor> tensors = record::read_shapes(shapes);
  const std::vector<float> values = record::read_gradients(gradients, tensors);
  RecordedLayers layers{
      .candidates = make_candidates(std::array{family}), .tensors = {}, .costs = {}};
  std::span<const float> rest = values;
  for (const MethodTensor& tensor : tensors) {
    const auto part = rest.first(tensor.elements());
    rest = rest.subspan(part.size());
    if (!is_planned(tensor)) continue;
    const CostOptions cost{.rng = {.seed = 1, .tensor = Rng::tensor_id(tensor.name)}};
    layers.tensors.push_back(tensor);
    layers.costs.push_back(
        {measure_costs(tensor, part, layers.candidates, cost), kernel::moments(part).squares});
  }
  return layers;
}

LayerPlan plan_for(const RecordedLayers& layers, double alpha) {
  return plan_layers(layers.candidates, layers.costs,
                     {.measure = ErrorMeasure::norms, .alpha = alpha});
}

LayerPlan uniform_plan(const RecordedLayers& layers, std::size_t candidate) {
  Candidates candidates = layers.candidates;
  candidates.uniform = candidate;
  std::vector<std::size_t> choices;
  for (const LayerCosts& costs : layers.costs) choices.push_back(uniform_choice(candidates, costs));
  return price(candidates, layers.costs, {.measure = ErrorMeasure::norms}, std::move(choices));
}

double bits_a_value(const RecordedLayers& layers, const LayerPlan& plan, std::size_t layer) {
  const double bytes = layers.costs[layer].by_candidate[plan.choices[layer]]->bytes;
  return 8 * bytes / static_cast<double>(layers.tensors[layer].elements());
}

}  // namespace gradwire::reproduce
