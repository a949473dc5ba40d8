// LayerExperience: the ratio of observed errors to the errors that plans promised. A trial measures
// the loss of a candidate on the present gradient. It cannot know the memory that the candidate
// will build up, which holds the values that it cannot send well. Plans that trust trials alone
// would alternate between families. Owned by the planner of one method; for one thread at a time.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gradwire/method/lgreco/layer_plan.h"
#include "gradwire/method/state.h"

namespace gradwire {

class LayerExperience {
 public:
  // `names` of the layers.
  explicit LayerExperience(std::vector<std::string> names);

  // Before a plan: learns from the layers' present choices, whose trials have seen their own
  // memory. Candidates of other families get their family's factor on the layer. The uniform
  // candidate gets none: a larger error of it would raise the limit of the whole plan.
  void apply(const Candidates& candidates, ErrorMeasure measure,
             std::span<const std::size_t> choices, std::span<LayerCosts> costs);

  // After a plan: keeps the promised error of each layer.
  void note(const Candidates& candidates, ErrorMeasure measure,
            std::span<const std::size_t> choices, std::span<const LayerCosts> costs);

  void save(MethodState& state) const;
  // Fields that the state lacks get their defaults.
  void load(const MethodState& state);

 private:
  struct Layer {
    std::string name;
    double promised = 0;  // the error, relative to the layer's norm; 0: no promise yet
    double topk = 1;      // factors: observed error over promised error
    double powersgd = 1;
  };
  static double* factor_of(Layer& layer, Family family);

  std::vector<Layer> layers_;
};

}  // namespace gradwire
