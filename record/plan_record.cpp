#include "record/plan_record.h"

#include <cstdio>

namespace gradwire::record {
namespace {

constexpr double kMsPerSecond = 1e3;

template <class... Numbers>
std::string formatted(const char* format, Numbers... numbers) {
  char text[200];
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
                      {"exchange_ms", kMsPerSecond * note.budget->exchange_seconds}};
  }
  plan["layers"] = std::move(layers);
  return plan;
}

std::string plan_line(const Json& plan) {
  if (plan.value("layers", Json::array()).empty()) return plan.value("reason", "");
  std::string line = plan.value("reason", "") +
                     formatted(
                         " %.0f bytes instead of %.0f, error %.3g of the gradient instead of "
                         "%.3g.",
                         plan.value("bytes", 0.0), plan.value("uniform_bytes", 0.0),
                         plan.value("error", 0.0), plan.value("uniform_error", 0.0));
  if (!plan.contains("budget")) return line;
  const Json& budget = plan["budget"];
  return line + formatted(
                    " Computing takes %.3g ms, the exchange should take %.3g ms on a link "
                    "that averages %.3g MB/s after %.3g ms.",
                    budget.value("compute_ms", 0.0), budget.value("exchange_ms", 0.0),
                    1e-6 * budget.value("link_bytes_per_second", 0.0),
                    budget.value("latency_ms", 0.0));
}

}  // namespace gradwire::record
