// The layers of a network with gradients that a run has recorded, and what L-GreCo plans for them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gradwire/method/lgreco/layer_plan.h"

namespace gradwire::reproduce {

// The costs of all candidates of a family, for each layer. A value type.
struct RecordedLayers {
  Candidates candidates;
  std::vector<MethodTensor> tensors;  // those that are planned for
  std::vector<LayerCosts> costs;
};

// From the files of `train --record-gradients`. Throws FileError.
RecordedLayers read_layers(const std::filesystem::path& gradients,
                           const std::filesystem::path& shapes, Family family);

// As published, the error is the sum of norms. It may be `alpha` times the error of the uniform
// setting.
LayerPlan plan_for(const RecordedLayers& layers, double alpha);

// Where all layers are sent by the same candidate; those that cannot be, as they are.
LayerPlan uniform_plan(const RecordedLayers& layers, std::size_t candidate);

// Of a layer that a plan sends by its choice, for each of its elements.
double bits_a_value(const RecordedLayers& layers, const LayerPlan& plan, std::size_t layer);

}  // namespace gradwire::reproduce
