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

double RatePlan::at(std::uint64_t step) const {
  const double per_epoch = static_cast<double>(steps_per_epoch);
  const double epoch = static_cast<double>(step) / per_epoch;
  // The first step of a warm-up has a rate above zero, too.
  if (epoch < warmup_epochs)
    return rate * (epoch + 1 / per_epoch) / (warmup_epochs + 1 / per_epoch);
  const double since = epoch - warmup_epochs;
  switch (schedule.kind) {
    case Schedule::Kind::constant:
      break;
    case Schedule::Kind::step:
      return rate * std::pow(schedule.factor, std::floor(since / schedule.every_epochs));
    case Schedule::Kind::cosine: {
      const double all = static_cast<double>(steps) / per_epoch - warmup_epochs;
      const double share = all > 0 ? std::min(since / all, 1.0) : 1.0;
      const double wave = (1 + std::cos(std::numbers::pi * share)) / 2;
      return rate * (schedule.last + (1 - schedule.last) * wave);
    }
  }
  return rate;
}

}  // namespace gradwire::train
