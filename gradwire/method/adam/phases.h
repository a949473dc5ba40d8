// AdamPhases: when adam(...) sends whole gradients, and when it sends by its codec. A state machine
// that is driven by what all ranks have in common: learning rates, the norm of the mean squares,
// and whether a step was poisoned. So all ranks are in the same phase. Value type.
//
//   warm-up      whole gradients; the mean squares are updated
//   compressed   the mean squares stay
//   refresh      as in the warm-up, for one step
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "gradwire/method/state.h"

namespace gradwire {

enum class AdamPhase { warmup, compressed, refresh };

struct AdamSchedule {
  std::optional<std::uint64_t> warmup = {};  // steps; null: until the mean squares have settled
  std::uint64_t refresh = 128;               // the longest time between refreshes; 0: none
  std::uint64_t window = 1000;               // of steps that the mean squares look back
};

class AdamPhases {
 public:
  explicit AdamPhases(const AdamSchedule& schedule);

  // Of the next step, which has this learning rate.
  AdamPhase next(double rate) const;

  // A step of this phase was done. `squares_norm` is the norm of the mean squares without their
  // bias, after a step that updated them.
  void commit(AdamPhase phase, double rate, double squares_norm);

  // No step after the warm-up was done yet.
  bool is_warm() const { return !warm_steps_.has_value(); }
  // Steps done, and those of them that updated the mean squares.
  std::uint64_t steps() const { return steps_; }
  std::uint64_t updates() const { return updates_; }

  void save(MethodState& state) const;
  // Throws Error for a state without phases.
  void load(const MethodState& state);
  // Gradients are so many times as large from now on.
  void rescale(double factor);

 private:
  bool has_settled() const;

  AdamSchedule schedule_;
  std::uint64_t steps_ = 0;
  std::uint64_t updates_ = 0;
  std::optional<std::uint64_t> warm_steps_ = {};  // of the warm-up, when it is over
  std::uint64_t next_refresh_ = 1;                // counted from the end of the warm-up
  double last_rate_ = 0;
  std::deque<double> norms_;  // over the last window, at equal distances
};

}  // namespace gradwire
