// LgcPhases: when a run with a learned code averages in full, when by shared indices with exact
// values, from which the code learns, and when by the code itself. Decided by errors that all ranks
// know, so that all decide alike. A value type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "gradwire/method/state.h"

namespace gradwire {

enum class LgcPhase { full, sparse, coded };
const char* name(LgcPhase phase);

struct LgcPhaseOptions {
  std::size_t full_steps = 2;
  std::size_t sparse_steps = 50;    // at the least, before the code is used
  double error_max = 0.4;           // that the code may have on steps that it has not learned from
  std::size_t refresh_every = 100;  // coded steps from one with exact values to the next; 0: never
};

class LgcPhases {
 public:
  explicit LgcPhases(const LgcPhaseOptions& options) : options_(options) {}

  // Of the step that comes.
  LgcPhase phase() const;
  // In the coded phase: this one sends exact values, for the code to learn from.
  bool is_refresh() const;

  // A step is over. `error` is what the code lost, or would have lost, of its mean, before it
  // learned from it: see CodeNote. Returns what there is to say; mostly nothing.
  std::string end_step(std::optional<double> error = {});

  // The code is another one: back to exact values, from which it learns.
  void restart();

  void save(MethodState& state) const;
  // Throws Error for numbers that make no sense.
  void load(const MethodState& state);

 private:
  LgcPhaseOptions options_;
  std::uint64_t steps_ = 0;  // all
  std::uint64_t since_ = 0;  // of this phase
  bool is_coded_ = false;
  double mean_error_ = 1;  // of the last steps
  bool has_complained_ = false;
  std::string pending_remark_;  // for the end of the next step
};

}  // namespace gradwire
