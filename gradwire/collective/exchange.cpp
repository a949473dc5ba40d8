#include "gradwire/collective/exchange.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "gradwire/collective/gather_exchange.h"
#include "gradwire/collective/owner_exchange.h"
#include "gradwire/collective/ring_exchange.h"
#include "gradwire/core/check.h"

namespace gradwire {
namespace {

std::size_t total_elements(const std::vector<TensorSize>& tensors) {
  std::size_t elements = 0;
  for (const TensorSize& tensor : tensors) elements += tensor.elements;
  return elements;
}

std::size_t message_bytes_max(const std::vector<TensorSize>& tensors, const TensorCodecs& up) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    bytes += up.of(i).payload_bytes_max(tensors[i].elements);
  }
  return bytes;
}

std::vector<std::uint64_t> tensor_ids(const std::vector<TensorSize>& tensors) {
  std::vector<std::uint64_t> ids;
  std::set<std::uint64_t> known;
  for (const TensorSize& tensor : tensors) {
    ids.push_back(Rng::tensor_id(tensor.name));
    if (!known.insert(ids.back()).second) {
      throw Error("two tensors of an exchange are called '" + tensor.name +
                  "': names tell their random numbers apart");
    }
  }
  return ids;
}

[[noreturn]] void refuse(Topology topology, const std::string& why) {
  throw Error(std::string("topology ") + name(topology) + ": " + why);
}

// What goes down when nobody says.
TensorCodecs default_down(Topology topology, const TensorCodecs& up) {
  return topology == Topology::gather ? TensorCodecs(make_codec("none")) : up;
}

void check_mixed(const ExchangeOptions& options, Topology topology, std::size_t tensors) {
  GW_CHECK(!options.up && !options.down && !options.keeps_uploads);
  GW_CHECK(options.each.size() == tensors);
  if (topology == Topology::ring) {
    refuse(topology,
           "tensors with codecs of their own cannot be summed on the way; take scatter, "
           "server or gather");
  }
}

void check_options(const ExchangeOptions& options, Topology topology, std::size_t elements) {
  const bool has_down = options.down && options.down->spec() != "none";
  if (topology == Topology::gather && has_down) {
    refuse(topology, "there is no way down that " + options.down->spec() +
                         " could be for; leave it out, or take scatter or server");
  }
  if (topology != Topology::ring) return;
  if (options.keeps_uploads) {
    refuse(topology,
           "nobody there sees a rank's own message, so none can be used again; take "
           "scatter, server or gather");
  }
  if (options.is_ported && !options.up->summable_from()) {
    refuse(topology, options.up->spec() +
                         " is rounded again at every hop, so a rank has no message of its own that "
                         "a memory could follow; take scatter, server or gather");
  }
  if (options.up->summable_from()) {
    if (has_down) {
      refuse(topology, "sums of " + options.up->spec() +
                           " go round as they are, so there is no downlink for " +
                           options.down->spec() + "; leave it out, or take scatter");
    }
  } else if (options.up->guarantee(elements).kind != Guarantee::Kind::unbiased) {
    refuse(topology, options.up->spec() +
                         " has a bias, which would add up at every hop; take scatter or gather");
  }
}

ExchangeSetup make_setup(std::vector<TensorSize> tensors, const ExchangeOptions& options,
                         std::size_t ranks) {
  const bool is_mixed = !options.each.empty();
  const std::size_t elements = total_elements(tensors);
  ExchangeSetup setup;
  setup.up = is_mixed ? TensorCodecs(options.each) : TensorCodecs(options.up);
  setup.topology = options.topology;
  if (setup.topology == Topology::automatic) {
    setup.topology = is_mixed ? choose_mixed_topology(message_bytes_max(tensors, setup.up), ranks)
                              : choose_topology(elements, ranks, *options.up, options.down.get());
  }
  if (is_mixed) {
    check_mixed(options, setup.topology, tensors.size());
  } else {
    check_options(options, setup.topology, elements);
  }
  if (setup.topology == Topology::server && options.server >= ranks) {
    refuse(setup.topology, "there is no rank " + std::to_string(options.server) + " among " +
                               std::to_string(ranks) + " to be the server");
  }
  if (setup.topology == Topology::server && !options.server_contributes && ranks == 1) {
    refuse(setup.topology, "a server that gives no values needs another rank that does");
  }
  const bool is_summed = setup.topology == Topology::ring && options.up->summable_from();
  setup.down = options.down && !is_summed ? TensorCodecs(options.down)
                                          : default_down(setup.topology, setup.up);
  setup.server = options.server;
  setup.server_contributes = options.server_contributes;
  setup.seed = options.seed;
  setup.is_ported = options.is_ported;
  setup.keeps_uploads = options.keeps_uploads;
  setup.tensor_ids = tensor_ids(tensors);
  setup.tensors = std::move(tensors);

  // Cut where both codecs can be cut, and never in the middle of a cache line.
  constexpr std::size_t kLineElements = 16;
  constexpr std::size_t kPieceElementsMax = std::size_t{1} << 16;
  const std::size_t buckets = std::lcm(setup.up.bucket_elements(), setup.down.bucket_elements());
  std::vector<std::size_t> sizes;
  for (const TensorSize& tensor : setup.tensors) sizes.push_back(tensor.elements);
  const bool is_shared = setup.topology == Topology::scatter || setup.topology == Topology::ring;
  const std::size_t segment =
      options.segment_elements_max > 0
          ? options.segment_elements_max
          : segment_elements(is_shared ? elements / ranks : elements, options.keeps_uploads);
  LayoutOptions cut{.ranks = ranks,
                    .unit_elements = std::lcm(buckets, kLineElements),
                    .segment_elements_max = segment,
                    .piece_elements_max = kPieceElementsMax};
  if (setup.topology == Topology::server) cut.only_owner = options.server;
  if (setup.topology == Topology::gather) cut.only_owner = 0;  // chunks mean nothing there
  setup.layout = lay_out(sizes, cut);
  return setup;
}

std::vector<Fact> facts_of(const ExchangeSetup& setup, const ExchangeOptions& options) {
  std::string list;
  for (const TensorSize& tensor : setup.tensors) {
    list += tensor.name + '[' + std::to_string(tensor.elements) + "] ";
  }
  return {
      {"topology", name(setup.topology)},
      {"uplink codec", setup.up.spec()},
      {"downlink codec", setup.down.spec()},
      {"length", std::to_string(total_elements(setup.tensors)) + " elements"},
      {"number of tensors", std::to_string(setup.tensors.size())},
      {"tensors", list},
      {"seed", std::to_string(setup.seed)},
      {"segment length", std::to_string(options.segment_elements_max)},
      {"memory", std::string(setup.is_ported ? "with" : "without") + " a worker's port" +
                     (setup.keeps_uploads ? ", last messages kept" : "")},
      {"server", std::to_string(setup.server) + (setup.server_contributes ? "" : ", dedicated")},
  };
}

std::unique_ptr<Exchange> make(Communicator::Impl& communicator, ExchangeSetup setup,
                               Transport& transport) {
  switch (setup.topology) {
    case Topology::gather:
      return std::make_unique<GatherExchange>(communicator, std::move(setup), transport);
    case Topology::ring:
      return std::make_unique<RingExchange>(communicator, std::move(setup), transport);
    default:
      return std::make_unique<OwnerExchange>(communicator, std::move(setup), transport);
  }
}

}  // namespace

std::size_t segment_elements(std::size_t chunk_elements, bool keeps_uploads) {
  constexpr std::size_t kLeast = std::size_t{1} << 17;
  constexpr std::size_t kMost = std::size_t{1} << 22;
  const std::size_t frames = keeps_uploads ? 1 : 4;
  return std::clamp((chunk_elements + frames - 1) / frames, kLeast, kMost);
}

std::unique_ptr<Exchange> make_exchange(Communicator& communicator, std::vector<TensorSize> tensors,
                                        const ExchangeOptions& options) {
  ExchangeSetup setup = make_setup(std::move(tensors), options, communicator.size());
  const std::vector<Fact> facts = facts_of(setup, options);
  std::unique_ptr<Exchange> exchange;
  communicator.impl().call([&](PeerLinks& links) {
    links.agreement.compare(facts);
    setup.number = communicator.impl().take_exchange_number();
    exchange = make(communicator.impl(), std::move(setup), links.transport);
  });
  return exchange;
}

}  // namespace gradwire
