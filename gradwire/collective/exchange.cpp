#include "gradwire/collective/exchange.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "gradwire/collective/exchange_base.h"
#include "gradwire/core/check.h"
#include "gradwire/core/usage_error.h"

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
  throw UsageError(std::string("topology ") + name(topology) + ": " + why);
}

// Topologies to use instead, for messages.
std::string without_sums() {
  return topology_names([](const TopologyTraits& traits) { return !traits.passes_sums; });
}
std::string with_owners() {
  return topology_names([](const TopologyTraits& traits) { return traits.has_owners; });
}

// The downlink's codecs if none are given.
TensorCodecs default_down(Topology topology, const TensorCodecs& up) {
  return traits_of(topology).has_downlink ? up : TensorCodecs(make_plain_codec());
}

void check_grace(const Grace& grace, const MethodExchangeOptions& method, Topology topology) {
  GW_CHECK(method.is_ported);
  if (!(grace.share > 0 && grace.share <= 1)) {
    throw Error("the share of the ranks to wait for is above 0 and at most 1");
  }
  if (!traits_of(topology).has_owners) {
    refuse(topology, "no owner decides for all ranks whom a mean counts; use " + with_owners());
  }
}

void check_mixed(const ExchangeOptions& options, const MethodExchangeOptions& method,
                 Topology topology, std::size_t tensors) {
  GW_CHECK(!options.up && !options.down && !method.keeps_uploads);
  GW_CHECK(method.each.size() == tensors);
  if (traits_of(topology).passes_sums) {
    refuse(topology,
           "tensors with different codecs cannot be summed at the hops; use " + without_sums());
  }
}

void check_options(const ExchangeOptions& options, const MethodExchangeOptions& method,
                   Topology topology, std::size_t elements) {
  const bool has_down = options.down && !options.down->is_plain();
  const TopologyTraits& traits = traits_of(topology);
  if (!traits.has_downlink && has_down) {
    refuse(topology, "there is no downlink for " + options.down->spec() +
                         "; leave it out, or use " + with_owners());
  }
  if (!traits.passes_sums) return;
  if (method.keeps_uploads) {
    refuse(topology,
           "no rank sees the message of another, so none can be reused; use " + without_sums());
  }
  if (method.is_ported && !options.up->summable_from()) {
    refuse(topology, options.up->spec() +
                         " is rounded again at every hop, so a rank has no message of its own for "
                         "an error memory; use " +
                         without_sums());
  }
  if (options.up->summable_from()) {
    if (has_down) {
      refuse(topology, "sums of " + options.up->spec() +
                           " are passed on exactly, so there is no downlink for " +
                           options.down->spec() + "; leave it out, or use " + with_owners());
    }
  } else if (options.up->guarantee(elements).kind != Guarantee::Kind::unbiased) {
    refuse(topology, options.up->spec() + " has a bias, which would add up at every hop; use " +
                         without_sums());
  }
}

// How the owners share the elements where links differ; empty where they share evenly.
std::vector<double> shares_for(const ExchangeSetup& setup, std::span<const LinkRate> links,
                               std::size_t elements) {
  const TopologyTraits& traits = traits_of(setup.topology);
  if (links.empty() || elements == 0 || !traits.has_owners || !traits.shares_evenly) return {};
  const auto bytes = [&](const TensorCodecs& codecs) {
    return static_cast<double>(message_bytes_max(setup.tensors, codecs)) /
           static_cast<double>(elements);
  };
  return owner_shares(
             links,
             {.elements = elements, .up_bytes = bytes(setup.up), .down_bytes = bytes(setup.down)})
      .shares;
}

// The mean of a segment comes down when the thinnest link has carried its message up. Short
// segments keep both directions of that link busy until the end.
std::size_t thin_segment_elements(const ExchangeSetup& setup, std::size_t elements) {
  constexpr std::size_t kBytes = std::size_t{1} << 19;
  const std::size_t message = std::max<std::size_t>(message_bytes_max(setup.tensors, setup.up), 1);
  return std::max<std::size_t>(elements / (message / kBytes + 1), 1);
}

ExchangeSetup make_setup(std::vector<TensorSize> tensors, const ExchangeOptions& options,
                         const MethodExchangeOptions& method, std::span<const LinkRate> links,
                         std::size_t ranks) {
  const bool is_mixed = !method.each.empty();
  if (!is_mixed && !options.up) {
    throw Error("an exchange needs a codec: set ExchangeOptions::up, such as make_codec(\"none\")");
  }
  const std::size_t elements = total_elements(tensors);
  ExchangeSetup setup;
  setup.up = is_mixed ? TensorCodecs(method.each) : TensorCodecs(options.up);
  setup.topology = options.topology;
  if (setup.topology == Topology::automatic) {
    setup.topology = is_mixed ? choose_mixed_topology(message_bytes_max(tensors, setup.up), ranks)
                              : choose_topology(elements, ranks, *options.up, options.down.get());
  }
  if (is_mixed) {
    check_mixed(options, method, setup.topology, tensors.size());
  } else {
    check_options(options, method, setup.topology, elements);
  }
  const TopologyTraits& traits = traits_of(setup.topology);
  if (traits.has_server && options.server >= ranks) {
    refuse(setup.topology, "there is no rank " + std::to_string(options.server) + " among " +
                               std::to_string(ranks) + " to be the server");
  }
  if (traits.has_server && !options.server_contributes && ranks == 1) {
    refuse(setup.topology, "a server that gives no values needs another rank that does");
  }
  const bool is_summed = traits.passes_sums && options.up->summable_from();
  setup.down = options.down && !is_summed ? TensorCodecs(options.down)
                                          : default_down(setup.topology, setup.up);
  setup.server = options.server;
  if (traits.has_server && !options.server_contributes) setup.dedicated_server = options.server;
  setup.seed = options.seed;
  setup.is_ported = method.is_ported;
  setup.keeps_uploads = method.keeps_uploads;
  if (method.grace.is_given()) check_grace(method.grace, method, setup.topology);
  if (ranks > 1) setup.grace = method.grace;
  setup.tensor_ids = tensor_ids(tensors);
  setup.tensors = std::move(tensors);

  // Cut where both codecs can be cut, and never in the middle of a cache line.
  constexpr std::size_t kLineElements = 16;
  constexpr std::size_t kPieceElementsMax = std::size_t{1} << 16;
  // A sum should be in the cache when it is added to.
  constexpr std::size_t kSumElementsMax = std::size_t{1} << 18;
  const std::size_t buckets = std::lcm(setup.up.bucket_elements(), setup.down.bucket_elements());
  std::vector<std::size_t> sizes;
  for (const TensorSize& tensor : setup.tensors) sizes.push_back(tensor.elements);
  const std::vector<double> shares = shares_for(setup, links, elements);
  std::size_t segment = options.segment_elements_max;
  if (segment == 0) {
    segment =
        segment_elements(traits.shares_evenly ? elements / ranks : elements, method.keeps_uploads);
    if (is_summed && options.up->is_plain()) segment = std::min(segment, kSumElementsMax);
    if (!shares.empty()) segment = std::min(segment, thin_segment_elements(setup, elements));
  }
  LayoutOptions cut{.ranks = ranks,
                    .shares = shares,
                    .unit_elements = std::lcm(buckets, kLineElements),
                    .segment_elements_max = segment,
                    .piece_elements_max = kPieceElementsMax};
  // Without owners a chunk means nothing, and rank 0 stands for all.
  if (!traits.shares_evenly) cut.only_owner = traits.has_server ? options.server : 0;
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
      {"grace", std::to_string(setup.grace.share)},
      {"server", std::to_string(setup.server) + (options.server_contributes ? "" : ", dedicated")},
  };
}

}  // namespace

std::unique_ptr<MethodExchange> make_method_exchange(Communicator& communicator,
                                                     std::vector<TensorSize> tensors,
                                                     const ExchangeOptions& options,
                                                     const MethodExchangeOptions& method) {
  ExchangeSetup setup =
      make_setup(std::move(tensors), options, method, communicator.links(), communicator.size());
  const std::vector<Fact> facts = facts_of(setup, options);
  const ExchangeMaker make =
      setup.grace.is_given() ? grace_exchange_maker() : exchange_maker(setup.topology);
  std::unique_ptr<MethodExchange> exchange;
  communicator.impl().call([&](PeerLinks& links) {
    links.agreement.compare(facts);
    setup.number = communicator.impl().take_exchange_number();
    exchange = make(communicator.impl(), std::move(setup), links.transport);
  });
  return exchange;
}

std::unique_ptr<Exchange> make_exchange(Communicator& communicator, std::vector<TensorSize> tensors,
                                        const ExchangeOptions& options) {
  return make_method_exchange(communicator, std::move(tensors), options, {});
}

}  // namespace gradwire
