// The topologies' names, and the choice among them.
#include <string>

#include "gradwire/collective/exchange.h"

namespace gradwire {
namespace {

constexpr Topology kAll[] = {Topology::automatic, Topology::scatter, Topology::server,
                             Topology::gather, Topology::ring};

}  // namespace

const char* name(Topology topology) {
  switch (topology) {
    case Topology::automatic:
      return "auto";
    case Topology::scatter:
      return "scatter";
    case Topology::server:
      return "server";
    case Topology::gather:
      return "gather";
    case Topology::ring:
      return "ring";
  }
  return "";
}

Topology topology_of(std::string_view text) {
  std::string names;
  for (const Topology topology : kAll) {
    if (text == name(topology)) return topology;
    names += std::string(names.empty() ? "" : ", ") + name(topology);
  }
  throw Error("there is no topology '" + std::string(text) + "': take one of " + names);
}

Topology choose_exact_topology(std::size_t elements, std::size_t ranks, const Codec& up) {
  // By gather a rank sends its message N-1 times; by scatter (N-1)/N of it and of the mean.
  const std::size_t message = up.payload_bytes_max(elements);
  const std::size_t mean = elements * sizeof(float);
  return ranks <= 2 || ranks * message <= message + mean ? Topology::gather : Topology::scatter;
}

Topology choose_mixed_topology(std::size_t message_bytes, std::size_t ranks) {
  // Two ranks send as much by gather as by scatter, and round only once.
  if (ranks <= 2) return Topology::gather;
  // Small messages cost a round trip, not bytes.
  constexpr std::size_t kSmallBytes = 4096;
  return message_bytes * (ranks - 1) <= kSmallBytes * ranks ? Topology::gather : Topology::scatter;
}

Topology choose_topology(std::size_t elements, std::size_t ranks, const Codec& up,
                         const Codec* down) {
  const bool is_exact = down != nullptr && down->spec() == "none";
  if (down != nullptr && !is_exact) return Topology::scatter;
  // A sum that loses nothing on the way has the fewest bytes and one neighbour to talk to.
  if (ranks > 1 && up.summable_from()) return Topology::ring;
  if (is_exact) return choose_exact_topology(elements, ranks, up);
  return choose_mixed_topology(up.payload_bytes_max(elements), ranks);
}

}  // namespace gradwire
