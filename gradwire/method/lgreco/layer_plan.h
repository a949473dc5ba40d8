// Which layer is sent by which candidate: from a table of costs to a plan. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gradwire/method/lgreco/layer_candidates.h"

namespace gradwire {

// What a layer's values cost by each candidate, and what they are themselves.
struct LayerCosts {
  std::vector<std::optional<CandidateCost>> by_candidate;
  double squared_norm = 0;
};

// What counts as the error of a layer; those of all layers are added up.
enum class ErrorMeasure {
  norms,    // of what is lost in one step: as published
  squares,  // of that: the square of the whole gradient's error
  // Norms, but of what an error memory comes to hold in the long run. A codec that keeps a share k
  // of the square leaves 1 - k of it to the next step, which brings as much again, and so on: (1 -
  // k)/k in all. Of two that lose almost everything, the one that loses a little more is far
  // slower.
  lag,
};

struct PlanOptions {
  ErrorMeasure measure = ErrorMeasure::norms;
  double alpha = 1;  // the error may be this many times that of the reference
  // A candidate for each layer; empty: the uniform setting.
  std::vector<std::size_t> reference = {};
  // Instead of that: the least error with which all layers take no more seconds than this.
  std::optional<double> seconds = {};
};

struct LayerPlan {
  std::vector<std::size_t> choices;  // a candidate for each layer
  double error = 0;                  // in the measure that was asked for
  double bytes = 0;
  double seconds = 0;
  double uniform_error = 0;  // of the reference
  double uniform_bytes = 0;
  double norm = 0;        // of what was planned for, in the same measure
  bool is_exact = false;  // no better plan is possible
  bool fits = true;       // the limit could be kept

  // The part of the gradient that is lost.
  double relative_error() const { return norm > 0 ? error / norm : 0; }
};

// What a layer is sent by where nothing is planned.
std::size_t uniform_choice(const Candidates& candidates, const LayerCosts& layer);

// Of a layer that a candidate leaves that error of; and of one that is lost as a whole.
double layer_error(ErrorMeasure measure, const Candidate& candidate, const CandidateCost& cost,
                   double squared_norm);
double layer_norm(ErrorMeasure measure, double squared_norm);

// Families are also looked at one by one, so that a mixed plan is never worse than the best of
// them. Throws Error for costs that are not finite.
LayerPlan plan_layers(const Candidates& candidates, std::span<const LayerCosts> layers,
                      const PlanOptions& options);

// What choices that were made come to.
LayerPlan price(const Candidates& candidates, std::span<const LayerCosts> layers,
                const PlanOptions& options, std::vector<std::size_t> choices);

}  // namespace gradwire
