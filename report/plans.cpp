#include "report/plans.h"

#include <algorithm>
#include <vector>

#include "report/json_values.h"

namespace gradwire::report {
namespace {

// Those that were made; a record also has those that could not be.
std::vector<const Json*> made(const Json& plans) {
  std::vector<const Json*> all;
  for (const Json& plan : plans) {
    if (!member(plan, "layers").empty()) all.push_back(&plan);
  }
  return all;
}

// At most kPlansMax, evenly spread, with the first and the last.
std::vector<const Json*> shown(const std::vector<const Json*>& plans) {
  const std::size_t count = std::min(plans.size(), kPlansMax);
  std::vector<const Json*> some;
  for (std::size_t i = 0; i < count; ++i) {
    some.push_back(plans[count == 1 ? 0 : i * (plans.size() - 1) / (count - 1)]);
  }
  return some;
}

const Json& layer_of(const Json& plan, const std::string& name) {
  static const Json kNone;
  for (const Json& layer : member(plan, "layers")) {
    if (text_member(layer, "name") == name) return layer;
  }
  return kNone;
}

Json row_of(const Json& layer, const std::vector<const Json*>& plans) {
  const std::string name = text_member(layer, "name");
  Json bits = Json::array();
  Json choices = Json::array();
  for (const Json* plan : plans) {
    const Json& chosen = layer_of(*plan, name);
    bits.push_back(rounded(number_member(chosen, "bits")));
    choices.push_back(text_member(chosen, "choice"));
  }
  return {{"name", name},
          {"elements", rounded(number_member(layer, "elements"))},
          {"bits", bits},
          {"choices", choices}};
}

Json mean_bits(const Json& plan) {
  double bits = 0;
  double elements = 0;
  for (const Json& layer : member(plan, "layers")) {
    const double weight = number_member(layer, "elements").value_or(0);
    bits += weight * number_member(layer, "bits").value_or(0);
    elements += weight;
  }
  return rounded(bits / elements);
}

}  // namespace

Json plans_of(const Json& plans) {
  if (!plans.is_array()) return nullptr;
  const std::vector<const Json*> all = made(plans);
  if (all.empty()) return nullptr;
  const std::vector<const Json*> some = shown(all);
  Json steps = Json::array();
  Json means = Json::array();
  for (const Json* plan : some) {
    steps.push_back(rounded(number_member(*plan, "step")));
    means.push_back(mean_bits(*plan));
  }
  Json layers = Json::array();
  for (const Json& layer : member(*some.front(), "layers")) layers.push_back(row_of(layer, some));
  return {{"plans", all.size()}, {"steps", steps}, {"mean_bits", means}, {"layers", layers}};
}

}  // namespace gradwire::report
