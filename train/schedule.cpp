#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "gradwire/codec/spec.h"
#include "train/read_spec.h"

namespace gradwire::train {

std::string Schedule::spec() const {
  switch (kind) {
    case Kind::constant:
      break;
    case Kind::step:
      return "step(every=" + format_number(every_epochs) + ", factor=" + format_number(factor) +
             ")";
    case Kind::cosine:
      return last == 0 ? "cosine" : "cosine(last=" + format_number(last) + ")";
  }
  return "constant";
}

Schedule parse_schedule(std::string_view text) {
  constexpr double kEpochsMax = 1e9;
  return read_spec(text, "schedule",
                   [](const std::string& name, StageReader& reader) {
                     if (name == "constant") return std::optional(Schedule{});
                     if (name == "step") {
                       return std::optional(Schedule{
                           .kind = Schedule::Kind::step,
                           .every_epochs = reader.keyed_number("every", 30, 1e-6, kEpochsMax),
                           .factor = reader.keyed_number("factor", 0.1, 0, 1)});
                     }
                     if (name == "cosine") {
                       return std::optional(Schedule{.kind = Schedule::Kind::cosine,
                                                     .last = reader.keyed_number("last", 0, 0, 1)});
                     }
                     return std::optional<Schedule>();
                   },
                   {"constant", "step", "cosine"});
}

// In whole steps: epochs are seldom exact in binary.
double RatePlan::at(std::uint64_t step) const {
  const auto whole_steps = [&](double epochs) {
    return static_cast<std::uint64_t>(std::llround(epochs * static_cast<double>(steps_per_epoch)));
  };
  const std::uint64_t warmup = whole_steps(warmup_epochs);
  // The first step of a warm-up has a rate above zero, too.
  if (step < warmup) return rate * static_cast<double>(step + 1) / static_cast<double>(warmup + 1);
  const std::uint64_t since = step - warmup;
  switch (schedule.kind) {
    case Schedule::Kind::constant:
      break;
    case Schedule::Kind::step: {
      const std::uint64_t every = std::max<std::uint64_t>(whole_steps(schedule.every_epochs), 1);
      return rate * std::pow(schedule.factor, static_cast<double>(since / every));
    }
    case Schedule::Kind::cosine: {
      const std::uint64_t all = steps > warmup ? steps - warmup : 1;
      const double share = std::min(static_cast<double>(since) / static_cast<double>(all), 1.0);
      const double wave = (1 + std::cos(std::numbers::pi * share)) / 2;
      return rate * (schedule.last + (1 - schedule.last) * wave);
    }
  }
  return rate;
}

}  // namespace gradwire::train
