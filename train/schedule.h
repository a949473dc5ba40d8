// Schedule: how the learning rate changes over a run. Specs, with what they multiply the given rate
// by, in epochs e of E:
//
//   constant                     1
//   step(every=30, factor=0.1)   factor^floor(e / every)
//   cosine(last=0)               last + (1 - last) (1 + cos(pi e / E)) / 2
//
// A warm-up of w epochs comes before: the rate rises in a line from zero, and e and E are counted
// from its end. Value type; pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gradwire::train {

struct Schedule {
  enum class Kind { constant, step, cosine };

  Kind kind = Kind::constant;
  double every_epochs = 30;  // of step
  double factor = 0.1;       // of step
  double last = 0;           // of cosine

  // The canonical text.
  std::string spec() const;
};

// Throws SpecError.
Schedule parse_schedule(std::string_view text);

struct RatePlan {
  Schedule schedule = {};
  double rate = 0.1;
  double warmup_epochs = 0;
  std::uint64_t steps_per_epoch = 1;
  std::uint64_t steps = 1;  // of the whole run

  // Of a step, from 0 on.
  double at(std::uint64_t step) const;
};

}  // namespace gradwire::train
