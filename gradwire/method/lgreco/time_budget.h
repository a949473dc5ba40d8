// TimeBudget: how long the exchange of each layer may take so that it hides behind the backward
// pass. Tensors travel in groups, one group after another, while the gradients of the next are
// worked out. What is ready last has nothing left to hide behind: it may take a small part of the
// backward pass. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gradwire/method/lgreco/layer_plan.h"
#include "gradwire/method/lgreco/plan_note.h"

namespace gradwire {

// Which tensors travel together, and which of them last.
struct TravelGroups {
  std::size_t groups = 1;
  std::vector<bool> is_last = {};  // by layer
  double hidden_exact_bytes = 0;   // of tensors that are sent as they are, without a plan
  double last_exact_bytes = 0;
};

// `layers` are the indices of the tensors that are planned for, in rising order.
TravelGroups find_groups(std::span<const MethodTensor> tensors, std::span<const std::size_t> layers,
                         std::size_t group_elements);

struct TimeBudget {
  double hidden_seconds = 0;  // for all groups but the last
  double last_seconds = 0;    // for the last one
};

// From what was measured: the backward pass, the link's rate and what an exchange takes at least.
TimeBudget find_budget(const TravelGroups& groups, const PlanNote::Budget& measured);

// The least error within the budget. The costs' seconds are those of whole exchanges.
std::vector<std::size_t> plan_in_time(const Candidates& candidates,
                                      std::span<const LayerCosts> costs, ErrorMeasure measure,
                                      const TravelGroups& groups, const TimeBudget& budget);

// What choices take: of the groups that hide, and of the last one.
TimeBudget exchange_seconds(std::span<const LayerCosts> costs, std::span<const std::size_t> choices,
                            const TravelGroups& groups);

}  // namespace gradwire
