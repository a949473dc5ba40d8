#include "gradwire/method/lgreco/layer_plan.h"

#include <algorithm>
#include <cmath>

#include "gradwire/plan/choose.h"

namespace gradwire {
namespace {

constexpr std::size_t kExact = 0;  // of all candidates

std::vector<std::size_t> reference_choices(const Candidates& candidates,
                                           std::span<const LayerCosts> layers,
                                           const PlanOptions& options) {
  if (!options.reference.empty()) return options.reference;
  std::vector<std::size_t> choices;
  for (const LayerCosts& layer : layers) choices.push_back(uniform_choice(candidates, layer));
  return choices;
}

// A choice problem, and which candidates its options stand for.
struct Problem {
  std::vector<std::vector<plan::Option>> options;
  std::vector<std::vector<std::size_t>> candidates;
  std::vector<std::size_t> reference;  // empty if the uniform setting is not among the options
};

// With the candidates of one family only, or of all.
Problem make_problem(const Candidates& candidates, std::span<const LayerCosts> layers,
                     const PlanOptions& options, std::optional<Family> only) {
  Problem problem;
  const auto is_open = [&](std::size_t i) {
    const Family family = candidates.all[i].family;
    return !only || family == *only || family == Family::exact;
  };
  bool has_reference = true;
  const std::vector<std::size_t> reference = reference_choices(candidates, layers, options);
  for (std::size_t of = 0; of < layers.size(); ++of) {
    const LayerCosts& layer = layers[of];
    auto& of_layer = problem.options.emplace_back();
    auto& stands_for = problem.candidates.emplace_back();
    const std::size_t uniform = reference[of];
    has_reference = has_reference && is_open(uniform);
    for (std::size_t i = 0; i < layer.by_candidate.size(); ++i) {
      if (!layer.by_candidate[i] || !is_open(i)) continue;
      const CandidateCost& cost = *layer.by_candidate[i];
      const double error =
          layer_error(options.measure, candidates.all[i], cost, layer.squared_norm);
      if (i == uniform) problem.reference.push_back(of_layer.size());
      of_layer.push_back(options.seconds ? plan::Option{.weight = cost.seconds, .price = error}
                                         : plan::Option{.weight = error, .price = cost.bytes});
      stands_for.push_back(i);
    }
  }
  if (!has_reference || options.seconds || options.alpha < 1) problem.reference.clear();
  return problem;
}

// Adds up what choices cost, in the order of the layers.
struct Totals {
  double error = 0;
  double bytes = 0;
  double seconds = 0;

  void add(const CandidateCost& cost, double of_error) {
    error += of_error;
    bytes += cost.bytes;
    seconds += cost.seconds;
  }
};

// What fits goes before what does not; what does not fit is as close as it can be.
bool is_better(const LayerPlan& plan, const LayerPlan& than, const PlanOptions& options) {
  if (plan.fits != than.fits) return plan.fits;
  const auto least = [&](const LayerPlan& of) {
    const bool is_error = options.seconds.has_value() == of.fits;
    return is_error ? of.error : options.seconds ? of.seconds : of.bytes;
  };
  return least(plan) < least(than);
}

}  // namespace

std::size_t uniform_choice(const Candidates& candidates, const LayerCosts& layer) {
  return layer.by_candidate[candidates.uniform] ? candidates.uniform : kExact;
}

double layer_error(ErrorMeasure measure, const Candidate& candidate, const CandidateCost& cost,
                   double squared_norm) {
  const double lost = cost.squared_error;
  const double factor = cost.error_factor;
  if (measure == ErrorMeasure::squares) return factor * factor * lost;
  if (measure == ErrorMeasure::norms || !candidate.has_memory()) return factor * std::sqrt(lost);
  constexpr double kKeptLeast = 1e-6;
  const double kept = std::max(squared_norm - lost, kKeptLeast * squared_norm);
  return kept > 0 ? factor * std::sqrt(squared_norm * (lost / kept)) : 0;
}

double layer_norm(ErrorMeasure measure, double squared_norm) {
  return measure == ErrorMeasure::squares ? squared_norm : std::sqrt(squared_norm);
}

LayerPlan price(const Candidates& candidates, std::span<const LayerCosts> layers,
                const PlanOptions& options, std::vector<std::size_t> choices) {
  Totals uniform;
  Totals chosen;
  LayerPlan plan;
  const std::vector<std::size_t> reference = reference_choices(candidates, layers, options);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const LayerCosts& layer = layers[i];
    const auto add = [&](std::size_t choice, Totals& totals) {
      const CandidateCost& cost = *layer.by_candidate[choice];
      totals.add(cost,
                 layer_error(options.measure, candidates.all[choice], cost, layer.squared_norm));
    };
    add(reference[i], uniform);
    add(choices[i], chosen);
    plan.norm += layer_norm(options.measure, layer.squared_norm);
  }
  plan.choices = std::move(choices);
  plan.error = chosen.error;
  plan.bytes = chosen.bytes;
  plan.seconds = chosen.seconds;
  plan.uniform_error = uniform.error;
  plan.uniform_bytes = uniform.bytes;
  plan.fits = options.seconds ? chosen.seconds <= *options.seconds
                              : chosen.error <= options.alpha * uniform.error;
  return plan;
}

LayerPlan plan_layers(const Candidates& candidates, std::span<const LayerCosts> layers,
                      const PlanOptions& options) {
  LayerPlan best =
      price(candidates, layers, options, reference_choices(candidates, layers, options));
  const double limit = options.seconds.value_or(options.alpha * best.uniform_error);

  std::vector<std::optional<Family>> tries = {std::nullopt};
  for (const Family family : {Family::qsgd, Family::topk, Family::powersgd}) {
    if (candidates.has(family)) tries.emplace_back(family);
  }
  if (tries.size() == 2) tries.pop_back();  // one family is all there is
  for (const std::optional<Family>& only : tries) {
    const Problem problem = make_problem(candidates, layers, options, only);
    const plan::Choice choice = plan::choose(problem.options, limit, problem.reference);
    std::vector<std::size_t> choices;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      choices.push_back(problem.candidates[i][choice.options[i]]);
    }
    LayerPlan plan = price(candidates, layers, options, std::move(choices));
    plan.is_exact = choice.is_exact && !only;
    if (!only || is_better(plan, best, options)) best = std::move(plan);
  }
  return best;
}

}  // namespace gradwire
