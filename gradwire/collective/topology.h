// Topology: the route of the messages of an exchange, as data: one enum, and one table of traits.
// Code that depends on a topology asks for its traits, so a new topology needs no change there.
//
// A topology is added in three files: a value of the enum here; a row of the table in topology.cpp,
// with its traits and its exchange; and its formula in plan/cost_model.cpp. Pure functions, for
// any thread. This header includes nothing heavy.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace gradwire {

class Codec;

enum class Topology {
  automatic,  // chosen by choose_topology
  scatter,    // each rank averages one chunk of the elements for all ranks
  server,     // one rank averages all elements for all ranks
  gather,     // each rank sends its message to all ranks: no second rounding
  ring,       // sums travel from neighbour to neighbour
};

// Everything is false for Topology::automatic.
struct TopologyTraits {
  Topology topology = Topology::automatic;
  const char* name = "";

  // There are owners: ranks that average the messages of all ranks, and send the mean to all.
  bool has_owners = false;

  // The mean is encoded with the downlink's codec before it is sent to all ranks.
  bool has_downlink = false;

  // Each rank averages an equal chunk of the elements. Otherwise there is one chunk with all.
  bool shares_evenly = false;

  // Sums are passed from rank to rank. No rank sees the message of another one, so messages cannot
  // be reused. Payloads that cannot be added without decoding are rounded again at every hop.
  bool passes_sums = false;

  // One rank is the server (ExchangeOptions::server). It may be a dedicated server.
  bool has_server = false;
};

const TopologyTraits& traits_of(Topology topology);

// All topologies but `automatic`, in the order in which listings show them.
std::span<const Topology> all_topologies();

// "auto", "scatter", "server", "gather" or "ring".
const char* name(Topology topology);
// Throws Error for an unknown name.
Topology topology_of(std::string_view name);

// The names of all topologies with fits(traits), such as "scatter, server"; of all without `fits`.
std::string topology_names(bool (*fits)(const TopologyTraits&) = nullptr);

// Whether every hop decodes the sum and encodes it again, because payloads cannot be added without
// decoding. Then a rank has no message of its own.
bool rounds_at_every_hop(Topology topology, const Codec& up);

// --- The choice of `auto` ---

// The result is the same on all ranks. `down` is the downlink's codec if the caller set one.
Topology choose_topology(std::size_t elements, std::size_t ranks, const Codec& up,
                         const Codec* down);

// The same if each tensor has a codec of its own: messages of `message_bytes` that cannot be summed
// and are rounded on uplink and downlink.
Topology choose_mixed_topology(std::size_t message_bytes, std::size_t ranks);

// The cheaper topology that keeps the mean exact without summing payloads: gather or scatter.
Topology choose_exact_topology(std::size_t elements, std::size_t ranks, const Codec& up);

}  // namespace gradwire
