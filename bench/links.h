// The links between ranks: time of a small message there and back, and the rate of large ones, pair
// by pair. One pair at a time, so that pairs do not disturb one another.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "gradwire/transport/transport.h"

namespace gradwire::bench {

struct Link {
  std::size_t from = 0;
  std::size_t to = 0;
  double bits_per_second = 0;
  double latency_seconds = 0;  // half of the way there and back: the median
};

// The pairs to measure: all of them for few ranks, otherwise neighbours in the ring.
std::vector<std::pair<std::size_t, std::size_t>> pairs_of(std::size_t ranks);

// All ranks call it, before anything else uses the transport. Returns the links that this rank
// sends on. Throws PeerError if a peer does not answer in time.
std::vector<Link> measure_links(Transport& transport, std::chrono::seconds answer_time_max);

}  // namespace gradwire::bench
