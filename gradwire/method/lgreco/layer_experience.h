// LayerExperience: how far the errors that plans promised were from those that came. A trial sees
// what a candidate loses of the gradient as it is now. What it will leave in its own memory, step
// after step, is just what it cannot send well, and no trial can know that before: a plan that
// trusted trials alone would go to and fro between a family and the memory that it leaves. For one
// thread at a time.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gradwire/method/lgreco/layer_plan.h"
#include "gradwire/method/state.h"

namespace gradwire {

class LayerExperience {
 public:
  // `names` are those of the layers.
  explicit LayerExperience(std::vector<std::string> names);

  // Before a plan: learns from the layers' present choices, whose trials have seen their own
  // memory. Candidates of other families get the factor that their family has by experience on the
  // layer; but not the uniform one, for a plan must not be allowed more because it is doubted.
  void apply(const Candidates& candidates, ErrorMeasure measure,
             std::span<const std::size_t> choices, std::span<LayerCosts> costs);

  // After it: what is promised, layer by layer.
  void note(const Candidates& candidates, ErrorMeasure measure,
            std::span<const std::size_t> choices, std::span<const LayerCosts> costs);

  void save(MethodState& state) const;
  // Takes what is there; what is not, was not known.
  void load(const MethodState& state);

 private:
  struct Layer {
    std::string name;
    double promised = 0;  // the error, relative to the layer's norm; 0: nothing was
    double topk = 1;      // how many times as much it was
    double powersgd = 1;
  };
  static double* factor_of(Layer& layer, Family family);

  std::vector<Layer> layers_;
};

}  // namespace gradwire
