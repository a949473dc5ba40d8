#include "report/headline.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <vector>

#include "record/prediction.h"

namespace gradwire::report {
namespace {

using record::RunRecord;

// Up to so much worse, a run is about as good: in points of accuracy, or as a share of the loss.
constexpr double kPointsWorse = 1;
constexpr double kLossWorse = 0.02;

std::string number(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

// Three digits, without an exponent.
std::string times_text(double times) {
  return number(times >= 99.95 ? "%.0f" : times >= 9.995 ? "%.1f" : "%.2f", times);
}

std::optional<double> bytes_per_step(const RunRecord& run) {
  if (run.steps == 0 || run.traffic.bytes_sent == 0) return std::nullopt;
  return static_cast<double>(run.traffic.bytes_sent) / static_cast<double>(run.steps);
}

std::optional<double> points_gained(const RunRecord& run, const RunRecord& than) {
  if (!run.final.accuracy || !than.final.accuracy) return std::nullopt;
  return 100 * (*run.final.accuracy - *than.final.accuracy);
}

bool is_about_as_good(const RunRecord& run, const RunRecord& than) {
  if (const auto gained = points_gained(run, than)) return *gained >= -kPointsWorse;
  const auto loss = [](const RunRecord& each) {
    return each.final.test_loss ? each.final.test_loss : each.final.loss;
  };
  if (!loss(run) || !loss(than)) return true;
  return *loss(run) <= (1 + kLossWorse) * *loss(than);
}

const record::Bandwidth& slow_link() { return record::kBandwidths.front(); }

// Steps of all runs are taken to compute equally long: what was measured differs by chance.
double seconds_on_slow_link(const RunRecord& run, const RunRecord& baseline) {
  const auto steps = static_cast<double>(run.steps);
  Phases phases = run.phases;
  phases.compute_seconds =
      baseline.phases.compute_seconds / static_cast<double>(baseline.steps) * steps;
  return record::predicted_seconds(phases, run.traffic, slow_link().bits_per_second) / steps;
}

}  // namespace

std::string headline_of(std::span<const Run> runs) {
  if (runs.size() < 2) return "";
  const RunRecord& first = runs.front().record;
  const auto first_bytes = bytes_per_step(first);
  if (!first_bytes) return "";
  const Run* chosen = nullptr;
  bool is_good = false;
  double seconds = 0;
  for (const Run& run : runs.subspan(1)) {
    if (!bytes_per_step(run.record)) continue;
    const bool is_this_good = is_about_as_good(run.record, first);
    const double own = seconds_on_slow_link(run.record, first);
    if (chosen != nullptr && (is_good != is_this_good ? is_good : own >= seconds)) continue;
    chosen = &run;
    is_good = is_this_good;
    seconds = own;
  }
  if (chosen == nullptr) return "";
  const double ratio = *first_bytes / *bytes_per_step(chosen->record);
  std::string text =
      chosen->name + ": " +
      (ratio >= 1 ? times_text(ratio) + " times fewer" : times_text(1 / ratio) + " times more") +
      " bytes than " + runs.front().name;
  if (const auto gained = points_gained(chosen->record, first)) {
    text += ", " + number("%+.2f", *gained) + " points of accuracy";
  }
  const double speedup = seconds_on_slow_link(first, first) / seconds;
  if (std::isfinite(speedup) && speedup > 0) {
    text += ", " + times_text(speedup) + " times as fast at " + slow_link().name + " (predicted)";
  }
  return text + ".";
}

}  // namespace gradwire::report
