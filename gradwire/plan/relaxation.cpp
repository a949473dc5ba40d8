#include "gradwire/plan/relaxation.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>

namespace gradwire::plan {
namespace {

// From one corner of a layer's convex hull to the next heavier one.
struct Step {
  double saving = 0;  // of price, for each unit of weight
  double weight = 0;
  std::uint32_t layer = 0;
  std::uint32_t to = 0;
};

bool saves_more(const Step& a, const Step& b) {
  return std::tie(b.saving, a.layer, a.to) < std::tie(a.saving, b.layer, b.to);
}

// Appends the steps of a layer, from its lightest item on. They save less and less.
void append_steps(ItemSpan items, std::uint32_t layer, std::vector<Step>& steps) {
  const std::size_t first = steps.size();
  for (std::uint32_t to = 1; to < items.size(); ++to) {
    const auto step_from = [&](const Item& item) {
      const double weight = items[to].weight - item.weight;
      return Step{(item.price - items[to].price) / weight, weight, layer, to};
    };
    const auto last = [&]() -> const Item& {
      return items[steps.size() > first ? steps.back().to : 0];
    };
    Step step = step_from(last());
    while (steps.size() > first && step.saving >= steps.back().saving) {
      steps.pop_back();
      step = step_from(last());
    }
    steps.push_back(step);
  }
}

// The savings of the step at `middle` and of some around it, at growing distances.
std::vector<double> savings_around(std::size_t middle, const std::vector<Step>& steps) {
  std::vector<double> savings = {steps[middle].saving};
  for (std::size_t distance = 1; distance < steps.size(); distance *= 2) {
    if (middle >= distance) savings.push_back(steps[middle - distance].saving);
    if (middle + distance < steps.size()) savings.push_back(steps[middle + distance].saving);
  }
  std::ranges::sort(savings);
  savings.erase(std::unique(savings.begin(), savings.end()), savings.end());
  return savings;
}

}  // namespace

void keep_undominated(Items& items) {
  std::ranges::sort(items, [](const Item& a, const Item& b) {
    return std::tie(a.weight, a.price, a.option) < std::tie(b.weight, b.price, b.option);
  });
  std::size_t kept = 0;
  for (const Item& item : items) {
    if (kept == 0 || item.price < items[kept - 1].price) items[kept++] = item;
  }
  items.resize(kept);
}

Relaxation relax(std::span<const ItemSpan> layers, double limit) {
  Relaxation relaxation;
  relaxation.picks.resize(layers.size());
  relaxation.over.resize(layers.size());
  std::vector<Step> steps;
  double weight = 0;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    weight += layers[layer].front().weight;
    append_steps(layers[layer], static_cast<std::uint32_t>(layer), steps);
  }
  if (steps.empty()) {
    relaxation.multipliers = {0};
    return relaxation;
  }
  std::ranges::sort(steps, saves_more);
  std::size_t taken = 0;
  for (; taken < steps.size(); ++taken) {
    const Step& step = steps[taken];
    relaxation.over[step.layer] = step.to;
    weight += step.weight;
    if (weight > limit) break;
    relaxation.picks[step.layer] = step.to;
  }
  const std::size_t last = std::min(taken, steps.size() - 1);
  relaxation.multiplier = steps[last].saving;
  relaxation.multipliers = savings_around(last, steps);
  return relaxation;
}

double rounding_share(std::size_t layers) {
  return 8 * (static_cast<double>(layers) + 8) * std::numeric_limits<double>::epsilon();
}

}  // namespace gradwire::plan
