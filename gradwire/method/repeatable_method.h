// RepeatableMethod: a method whose steps can be given up, exchanged again and replayed, for runs
// whose ranks come and go. Not installed. Its steps are one exchange, behind a gate
// (collective/method_exchange.h). Otherwise it is a Method like all others.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "gradwire/collective/method_exchange.h"
#include "gradwire/method/method.h"

namespace gradwire {

// How the group differs from the one that a state is of.
struct Regrouping {
  std::size_t workers_before = 1;
  // A worker is gone, or this one is new: the mean of the workers' shifts is not the mean that all
  // ranks hold any more.
  bool has_lost_shifts = false;
};

class RepeatableMethod : public Method {
 public:
  // A step that other ranks have exchanged, from its result frames, by rank, as CommitGate got
  // them. Replicated memories and outputs become those of the other ranks; this rank's own memories
  // stay. Throws PeerError for frames that are not those of the step.
  virtual MethodReport replay(const StepContext& context,
                              std::span<const std::vector<std::byte>> results,
                              std::span<const std::span<float>> outputs) = 0;

  // Continues with this rank's memories of another group. Own and replicated memories are kept. Of
  // an owner's memories, those that this rank owns in both groups are; the rest starts at zero.
  virtual void take_over(const MethodState& before, const Regrouping& how) = 0;
};

}  // namespace gradwire
