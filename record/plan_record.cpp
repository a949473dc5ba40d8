#include "record/plan_record.h"

#include <cstdio>

namespace gradwire::record {
namespace {

constexpr double kMsPerSecond = 1e3;

template <class... Numbers>
std::string formatted(const char* format, Numbers... numbers) {
  char text[320];
  std::snprintf(text, sizeof text, format, numbers...);
  return text;
}

}  // namespace

Json to_json(const PlanNote& note) {
  Json layers = Json::array();
  for (const PlanNote::Layer& layer : note.layers) {
    layers.push_back({{"name", layer.name},
                      {"elements", layer.elements},
                      {"choice", layer.choice},
                      {"bits", 8 * layer.bytes / static_cast<double>(layer.elements)},
                      {"bytes", layer.bytes},
                      {"error", layer.error}});
  }
  Json plan = {{"reason", note.reason},
               {"bytes", note.bytes},
               {"uniform_bytes", note.uniform_bytes},
               {"error", note.error},
               {"uniform_error", note.uniform_error},
               {"planning_ms", kMsPerSecond * note.seconds}};
  if (note.budget) {
    plan["budget"] = {{"compute_ms", kMsPerSecond * note.budget->compute_seconds},
                      {"link_bytes_per_second", note.budget->bytes_per_second},
                      {"latency_ms", kMsPerSecond * note.budget->latency_seconds},
                      {"groups", note.budget->groups},
                      {"hidden_room_ms", kMsPerSecond * note.budget->hidden_room_seconds},
                      {"hidden_ms", kMsPerSecond * note.budget->hidden_seconds},
                      {"visible_ms", kMsPerSecond * note.budget->visible_seconds}};
  }
  plan["layers"] = std::move(layers);
  return plan;
}

std::string plan_line(const Json& plan) {
  if (plan.value("layers", Json::array()).empty()) return plan.value("reason", "");
  std::string line = plan.value("reason", "") +
                     formatted(
                         " %.0f bytes instead of %.0f; the error that is planned by is %.3g of "
                         "the gradient instead of %.3g.",
                         plan.value("bytes", 0.0), plan.value("uniform_bytes", 0.0),
                         plan.value("error", 0.0), plan.value("uniform_error", 0.0));
  if (!plan.contains("budget")) return line;
  const Json& budget = plan["budget"];
  return line + formatted(
                    " The link takes %.3g MB/s and %.3g ms for each exchange; gradients become "
                    "ready over %.3g ms, in %.0f groups. Their exchange should take %.3g of %.3g "
                    "ms that it can hide behind, and for the last group %.3g ms more.",
                    1e-6 * budget.value("link_bytes_per_second", 0.0),
                    budget.value("latency_ms", 0.0), budget.value("compute_ms", 0.0),
                    budget.value("groups", 0.0), budget.value("hidden_ms", 0.0),
                    budget.value("hidden_room_ms", 0.0), budget.value("visible_ms", 0.0));
}

}  // namespace gradwire::record
