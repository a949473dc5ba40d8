#include "gradwire/collective/ring_hops.h"

#include <algorithm>

namespace gradwire {

std::vector<RingHop> ring_hops(const Layout& layout, std::size_t rank, std::size_t ranks) {
  std::vector<RingHop> hops;
  const auto behind = [&](std::size_t steps) { return (rank + ranks - steps) % ranks; };
  const auto add = [&](RingHop::Kind kind, std::size_t owner, bool comes, bool goes) {
    const Chunk& chunk = layout.chunks[owner];
    for (std::size_t i = 0; i < chunk.segment_count; ++i) {
      hops.push_back({kind, chunk.first_segment + i, owner, comes, goes});
    }
  };
  if (ranks == 1) {
    add(RingHop::Kind::last_sum, rank, false, false);
    return hops;
  }
  add(RingHop::Kind::first_sum, behind(1), false, true);
  for (std::size_t steps = 2; steps < ranks; ++steps) {
    add(RingHop::Kind::sum, behind(steps), true, true);
  }
  add(RingHop::Kind::last_sum, rank, true, true);
  for (std::size_t steps = 1; steps < ranks; ++steps) {
    add(RingHop::Kind::mean, behind(steps), true, steps + 1 < ranks);
  }
  return hops;
}

std::size_t ring_rooms(const Layout& layout) {
  std::size_t segments = 0;
  for (const Chunk& chunk : layout.chunks) segments = std::max(segments, chunk.segment_count);
  return segments + 2;
}

float mean_factor(double weight) { return weight > 0 ? static_cast<float>(1 / weight) : 0; }

}  // namespace gradwire
