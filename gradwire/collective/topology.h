// Topology: which rank sends what to whom in an exchange, as data. One enum, and one table of
// traits: code that depends on a topology asks for its traits, so that a new one needs no change
// there.
//
// A topology is added in three files: a value of the enum here; a row of the table in topology.cpp,
// with its traits and its exchange; and its formula in plan/cost_model.cpp. Pure functions of
// values, for any thread. Nothing heavy is included here.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace gradwire {

class Codec;

enum class Topology {
  automatic,  // chosen by choose_topology
  scatter,    // every rank owns a chunk of the elements, and averages it for all
  server,     // one rank owns all of them
  gather,     // every rank sends its message to all: no second rounding
  ring,       // sums travel from neighbour to neighbour
};

// Everything is false for Topology::automatic.
struct TopologyTraits {
  Topology topology = Topology::automatic;
  const char* name = "";

  // Some ranks are owners: they average the messages of all, and send the mean down to all.
  bool has_owners = false;

  // The mean is encoded before it travels to all, by the downlink's codec.
  bool has_downlink = false;

  // Every rank averages an equal chunk of the elements. Otherwise there is one chunk, of all.
  bool shares_evenly = false;

  // Sums are passed from rank to rank. No rank sees the message of another, so none can be used
  // again, and payloads that cannot be added as they are must be rounded again at every hop.
  bool passes_sums = false;

  // One rank is the server (ExchangeOptions::server), which may be a dedicated one.
  bool has_server = false;
};

const TopologyTraits& traits_of(Topology topology);

// All topologies but `automatic`, in the order in which listings show them.
std::span<const Topology> all_topologies();

// "auto", "scatter", "server", "gather" or "ring".
const char* name(Topology topology);
// Throws Error for an unknown name.
Topology topology_of(std::string_view name);

// The names of all topologies that fit, such as "scatter, server".
std::string topology_names(bool (*fits)(const TopologyTraits&) = nullptr);

// Whether the sum is decoded and encoded again at every hop, since payloads cannot be added as they
// are. A rank has no message of its own then.
bool rounds_at_every_hop(Topology topology, const Codec& up);

// --- The choice of `auto` ---

// A pure function, the same on all ranks. `down` is the downlink's codec if one was asked for.
Topology choose_topology(std::size_t elements, std::size_t ranks, const Codec& up,
                         const Codec* down);

// The same for messages of that many bytes that cannot be summed and are rounded on the way down
// as on the way up: where every tensor has a codec of its own.
Topology choose_mixed_topology(std::size_t message_bytes, std::size_t ranks);

// The cheaper of the topologies that keep the mean exact without summing payloads: gather or
// scatter.
Topology choose_exact_topology(std::size_t elements, std::size_t ranks, const Codec& up);

}  // namespace gradwire
