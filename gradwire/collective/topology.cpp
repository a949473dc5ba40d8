#include "gradwire/collective/topology.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>

#include "gradwire/codec/codec.h"
#include "gradwire/collective/exchange_base.h"
#include "gradwire/collective/gather_exchange.h"
#include "gradwire/collective/grace_exchange.h"
#include "gradwire/collective/owner_exchange.h"
#include "gradwire/collective/plain_ring_exchange.h"
#include "gradwire/collective/ring_exchange.h"
#include "gradwire/core/check.h"
#include "gradwire/core/error.h"

namespace gradwire {
namespace {

template <class Kind>
std::unique_ptr<MethodExchange> make(Communicator::Impl& communicator, ExchangeSetup setup,
                                     Transport& transport) {
  return std::make_unique<Kind>(communicator, std::move(setup), transport);
}

// Values that travel as they are need no memory for frames.
std::unique_ptr<MethodExchange> make_ring(Communicator::Impl& communicator, ExchangeSetup setup,
                                          Transport& transport) {
  const bool is_direct = setup.up.common().is_plain() && !setup.is_ported && transport.size() > 1;
  return is_direct ? make<PlainRingExchange>(communicator, std::move(setup), transport)
                   : make<RingExchange>(communicator, std::move(setup), transport);
}

struct Entry {
  TopologyTraits traits;
  ExchangeMaker make;
};

constexpr Entry kTable[] = {
    {.traits = {.topology = Topology::automatic, .name = "auto"}, .make = nullptr},
    {.traits = {.topology = Topology::scatter,
                .name = "scatter",
                .has_owners = true,
                .has_downlink = true,
                .shares_evenly = true},
     .make = make<OwnerExchange>},
    {.traits = {.topology = Topology::server,
                .name = "server",
                .has_owners = true,
                .has_downlink = true,
                .has_server = true},
     .make = make<OwnerExchange>},
    {.traits = {.topology = Topology::gather, .name = "gather"}, .make = make<GatherExchange>},
    {.traits = {.topology = Topology::ring,
                .name = "ring",
                .has_downlink = true,
                .shares_evenly = true,
                .passes_sums = true},
     .make = make_ring},
};

const Entry& entry_of(Topology topology) {
  const auto found =
      std::ranges::find(kTable, topology, [](const Entry& entry) { return entry.traits.topology; });
  GW_CHECK(found != std::end(kTable));
  return *found;
}

}  // namespace

const TopologyTraits& traits_of(Topology topology) { return entry_of(topology).traits; }

ExchangeMaker exchange_maker(Topology topology) { return entry_of(topology).make; }
ExchangeMaker grace_exchange_maker() { return make<GraceExchange>; }

std::span<const Topology> all_topologies() {
  static constexpr auto kAll = [] {
    std::array<Topology, std::size(kTable) - 1> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = kTable[i + 1].traits.topology;
    return all;
  }();
  return kAll;
}

const char* name(Topology topology) { return traits_of(topology).name; }

Topology topology_of(std::string_view text) {
  for (const Entry& entry : kTable) {
    if (text == entry.traits.name) return entry.traits.topology;
  }
  throw Error("there is no topology '" + std::string(text) + "': use one of " +
              name(Topology::automatic) + ", " + topology_names());
}

std::string topology_names(bool (*fits)(const TopologyTraits&)) {
  std::string names;
  for (const Topology topology : all_topologies()) {
    if (fits != nullptr && !fits(traits_of(topology))) continue;
    names += std::string(names.empty() ? "" : ", ") + name(topology);
  }
  return names;
}

bool rounds_at_every_hop(Topology topology, const Codec& up) {
  return traits_of(topology).passes_sums && !up.summable_from().has_value();
}

// --- The choice of `auto` ---

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
  const bool is_exact = down != nullptr && down->is_plain();
  if (down != nullptr && !is_exact) return Topology::scatter;
  // A sum that loses nothing on the way has the fewest bytes and one neighbour to talk to.
  if (ranks > 1 && up.summable_from()) return Topology::ring;
  if (is_exact) return choose_exact_topology(elements, ranks, up);
  return choose_mixed_topology(up.payload_bytes_max(elements), ranks);
}

}  // namespace gradwire
