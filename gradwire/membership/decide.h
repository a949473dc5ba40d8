// What a coordinator proposes, as a function of the reports. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gradwire/membership/message.h"
#include "gradwire/membership/view.h"

namespace gradwire::membership {

struct Situation {
  const View& view;
  // By rank; nothing where a member has not reported.
  const std::vector<std::optional<Report>>& reports;
  const std::vector<Departure>& reasons;  // by rank: why a member that has not reported is gone
  const std::vector<Member>& newcomers;   // that are ready
  RankSet leavers;
};

// The ranks that have reported and say of each other that they cannot be reached.
RankSet disconnected(const Situation& situation);

// Nothing if no member that has reported has a model.
std::optional<Decision> decide(const Situation& situation);

}  // namespace gradwire::membership
