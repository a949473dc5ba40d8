#include "gradwire/method/lgreco/time_budget.h"

#include <algorithm>

#include "gradwire/core/check.h"
#include "gradwire/method/tensor_groups.h"

namespace gradwire {
namespace {

// Of the backward pass, for what cannot hide behind it.
constexpr double kVisibleShare = 0.1;

}  // namespace

TravelGroups find_groups(std::span<const MethodTensor> tensors, std::span<const std::size_t> layers,
                         std::size_t group_elements) {
  const TensorGroups groups(tensors, group_elements);
  TravelGroups found{.groups = groups.size()};
  std::size_t layer = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const bool is_last = groups.group_of(i) + 1 == groups.size();
    if (layer < layers.size() && layers[layer] == i) {
      found.is_last.push_back(is_last);
      ++layer;
    } else {
      const double bytes = static_cast<double>(tensors[i].elements() * sizeof(float));
      (is_last ? found.last_exact_bytes : found.hidden_exact_bytes) += bytes;
    }
  }
  return found;
}

TimeBudget find_budget(const TravelGroups& groups, const PlanNote::Budget& measured) {
  GW_CHECK(groups.groups > 0 && measured.bytes_per_second > 0);
  const auto all = static_cast<double>(groups.groups);
  // The first group is ready when its share of the pass is over.
  const double room = measured.compute_seconds * (all - 1) / all;
  const double latency = (all - 1) * measured.latency_seconds;
  const auto left = [&](double seconds, double exact_bytes) {
    return std::max(0.0, seconds - exact_bytes / measured.bytes_per_second);
  };
  return {.hidden_seconds = left(room - latency, groups.hidden_exact_bytes),
          .last_seconds = left(kVisibleShare * measured.compute_seconds, groups.last_exact_bytes)};
}

std::vector<std::size_t> plan_in_time(const Candidates& candidates,
                                      std::span<const LayerCosts> costs, ErrorMeasure measure,
                                      const TravelGroups& groups, const TimeBudget& budget) {
  std::vector<std::size_t> choices(costs.size());
  for (const bool is_last : {false, true}) {
    std::vector<std::size_t> places;
    std::vector<LayerCosts> some;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      if (groups.is_last[i] != is_last) continue;
      places.push_back(i);
      some.push_back(costs[i]);
    }
    const double seconds = is_last ? budget.last_seconds : budget.hidden_seconds;
    const LayerPlan plan = plan_layers(candidates, some, {.measure = measure, .seconds = seconds});
    for (std::size_t i = 0; i < places.size(); ++i) choices[places[i]] = plan.choices[i];
  }
  return choices;
}

TimeBudget exchange_seconds(std::span<const LayerCosts> costs, std::span<const std::size_t> choices,
                            const TravelGroups& groups) {
  TimeBudget taken;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const double seconds = costs[i].by_candidate[choices[i]].value().seconds;
    (groups.is_last[i] ? taken.last_seconds : taken.hidden_seconds) += seconds;
  }
  return taken;
}

}  // namespace gradwire
