// LayerPlanner: from what layers look like to what each is sent by, agreed on by all ranks; and
// whether a plan still keeps what it promised. It knows nothing of steps, nor of how a plan is
// carried out. All ranks make the same calls in the same order. For one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gradwire/collective/communicator.h"
#include "gradwire/method/lgreco/layer_candidates.h"
#include "gradwire/method/lgreco/layer_experience.h"
#include "gradwire/method/lgreco/layer_plan.h"
#include "gradwire/method/lgreco/lgreco.h"
#include "gradwire/method/lgreco/plan_agreement.h"
#include "gradwire/method/lgreco/plan_note.h"
#include "gradwire/method/lgreco/time_budget.h"

namespace gradwire {

class LayerPlanner {
 public:
  struct Setup {
    const LgrecoOptions& lgreco;
    const std::vector<MethodTensor>& tensors;
    std::vector<std::size_t> layers;  // indices of the tensors that are planned for
    Topology topology;                // on which a link is measured
    const MethodOptions& options;
  };

  // What the setup refers to must stay, apart from the options.
  LayerPlanner(Communicator& communicator, const Setup& setup);

  // What a plan, or a look at one, is made from.
  struct View {
    std::uint64_t step = 0;
    std::span<const std::vector<float>> values;  // that would be compressed now, by layer
    std::span<const std::size_t> choices;        // in use
    std::span<const double> norms = {};          // of the accumulated gradients, by layer
    double compute_seconds = 0;                  // in which gradients become ready
  };

  bool has_promised() const { return promised_.has_value(); }
  // Whether the error is what the last plan promised; if not, why there should be another one.
  std::string check_promise(const View& view);

  // Choices by layer, and the rest of the note, which has its reason. Nothing if there can be no
  // plan now: the note says why.
  std::optional<std::vector<std::size_t>> plan(const View& view, PlanNote& note);

  // What all that sent since the last time.
  MethodReport take_report() { return agreement_.take_report(); }

  void save(MethodState& state) const;
  void load(const MethodState& state);

 private:
  CostOptions cost_options(std::uint64_t step, std::size_t tensor) const;
  std::vector<LayerCosts> measure(const View& view) const;
  void measure_link(const View& view, std::vector<LayerCosts>& costs, PlanNote& note);
  // Accordion's choices now; nothing without it, or if norms are not finite.
  std::optional<std::vector<std::size_t>> accordion_choices(const View& view,
                                                            std::span<const LayerCosts> costs,
                                                            PlanNote& note);
  std::vector<std::size_t> choose(const View& view, const PlanOptions& options,
                                  std::vector<LayerCosts>& costs, PlanNote& note);
  void describe(const LayerPlan& plan, std::span<const LayerCosts> costs, PlanNote& note) const;

  const std::size_t rank_;
  const LgrecoOptions& lgreco_;
  const std::vector<MethodTensor>& tensors_;
  const std::vector<std::size_t> layers_;
  const Topology topology_;
  const std::uint64_t seed_;
  const TravelGroups groups_;
  LayerExperience experience_;
  CriticalPhases phases_;
  std::size_t low_ = 0;  // of Accordion, among the candidates
  std::size_t high_ = 0;
  PlanAgreement agreement_;
  std::optional<double> promised_;  // the relative error of the last plan
};

}  // namespace gradwire
