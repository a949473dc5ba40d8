#include "gradwire/method/lgreco/layer_experience.h"

#include <algorithm>
#include <cmath>

#include "gradwire/core/check.h"

namespace gradwire {
namespace {

constexpr double kFactorMax = 100;
// What was learned long ago fades, a tenth of its logarithm with each plan.
constexpr double kFading = 0.9;

double relative_error(const Candidates& candidates, ErrorMeasure measure, std::size_t choice,
                      const LayerCosts& costs) {
  const double norm = layer_norm(measure, costs.squared_norm);
  const CandidateCost& cost = costs.by_candidate[choice].value();
  return norm > 0 ? layer_error(measure, candidates.all[choice], cost, costs.squared_norm) / norm
                  : 0;
}

std::string promise_key(const std::string& layer) { return "promised error of " + layer; }
std::string factor_key(const char* family, const std::string& layer) {
  return std::string("experience with ") + family + " on " + layer;
}

}  // namespace

LayerExperience::LayerExperience(std::vector<std::string> names) {
  for (std::string& name : names) layers_.push_back({.name = std::move(name)});
}

double* LayerExperience::factor_of(Layer& layer, Family family) {
  if (family == Family::topk) return &layer.topk;
  return family == Family::powersgd ? &layer.powersgd : nullptr;
}

void LayerExperience::apply(const Candidates& candidates, ErrorMeasure measure,
                            std::span<const std::size_t> choices, std::span<LayerCosts> costs) {
  GW_CHECK(choices.size() == layers_.size() && costs.size() == layers_.size());
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    Layer& layer = layers_[i];
    const Family in_use = candidates.all[choices[i]].family;
    for (const Family family : {Family::topk, Family::powersgd}) {
      double& factor = *factor_of(layer, family);
      if (family != in_use) {
        factor = std::pow(factor, kFading);
      } else if (layer.promised > 0) {
        // With squares, factors are those of norms.
        const double ratio =
            relative_error(candidates, measure, choices[i], costs[i]) / layer.promised;
        const double times = measure == ErrorMeasure::squares ? std::sqrt(ratio) : ratio;
        factor = std::clamp(factor * times, 1.0, kFactorMax);
      }
    }
    for (std::size_t c = 0; c < candidates.all.size(); ++c) {
      const Family family = candidates.all[c].family;
      const double* const factor = factor_of(layer, family);
      const bool is_doubted = factor != nullptr && family != in_use && c != candidates.uniform;
      if (costs[i].by_candidate[c] && is_doubted) costs[i].by_candidate[c]->error_factor = *factor;
    }
  }
}

void LayerExperience::note(const Candidates& candidates, ErrorMeasure measure,
                           std::span<const std::size_t> choices,
                           std::span<const LayerCosts> costs) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layers_[i].promised = relative_error(candidates, measure, choices[i], costs[i]);
  }
}

void LayerExperience::save(MethodState& state) const {
  for (const Layer& layer : layers_) {
    state.numbers[promise_key(layer.name)] = layer.promised;
    state.numbers[factor_key("topk", layer.name)] = layer.topk;
    state.numbers[factor_key("powersgd", layer.name)] = layer.powersgd;
  }
}

void LayerExperience::load(const MethodState& state) {
  const auto number = [&](const std::string& key, double otherwise, double least) {
    const auto found = state.numbers.find(key);
    const bool is_good = found != state.numbers.end() && std::isfinite(found->second);
    return is_good ? std::max(found->second, least) : otherwise;
  };
  for (Layer& layer : layers_) {
    layer.promised = number(promise_key(layer.name), 0, 0);
    layer.topk = number(factor_key("topk", layer.name), 1, 1);
    layer.powersgd = number(factor_key("powersgd", layer.name), 1, 1);
  }
}

}  // namespace gradwire
