// The rule against two views at once: which members of a view can end it. docs/membership.md has
// the proof. A pure function.
#pragma once

#include <cstddef>

#include "gradwire/membership/rank_set.h"

namespace gradwire::membership {

// `living` have answered. `ended` have not, but what they had promised when they ended is known.
// A quorum is more than half of all members; or exactly half, with rank 0; or everybody who can
// ever speak again. Any two quorums have a member in common whose promises both know.
//
// A member whose connection is closed counts like a silent one. It may live, and it may have ended
// this view with others before it died.
inline bool is_quorum(std::size_t members, const RankSet& living, const RankSet& ended) {
  const std::size_t count = living.count();
  if (2 * count > members || (2 * count == members && living.has(0))) return true;
  return count > 0 && (living | ended).includes(RankSet::first(members));
}

}  // namespace gradwire::membership
