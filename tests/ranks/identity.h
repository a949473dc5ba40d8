// For tests: exchanges whose results must be the same bits on every transport, as a list of cases
// and a line of text for the result of each. Used by the program `ranks`, where ranks are
// processes, and by the test that compares it with ranks that are threads.
#pragma once

#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gradwire/codec/codec.h"
#include "gradwire/collective/exchange.h"
#include "gradwire/collective/progress.h"
#include "gradwire/collective/test_support.h"
#include "gradwire/wire/frame.h"

namespace gradwire {

enum class IdentityList {
  quick,  // a few codecs and short tensors: for builds that are slow
  usual,  // every codec, and long tensors for a few
  full,   // every codec with every length
};

struct IdentityCase {
  std::string up;
  std::string down = {};  // empty: what the topology takes by itself
  Topology topology = Topology::automatic;
  bool dedicated = false;  // the last rank is the server, and gives no values
  std::size_t elements = 0;

  // "natural -> sign scatter 10007"
  std::string text() const {
    return up + (down.empty() ? "" : " -> " + down) + ' ' + name(topology) +
           (dedicated ? "-dedicated " : " ") + std::to_string(elements);
  }
};

inline constexpr std::size_t kIdentityElementsMax = 1048576;

inline std::vector<std::string> identity_specs(IdentityList list) {
  if (list == IdentityList::quick) {
    return {"none", "natural", "qsgd(bits=4)", "topk(1%)", "natural | entropy"};
  }
  std::vector<std::string> specs = example_codec_specs();
  for (const char* pipe : {"randk(5%, seed=shared) | natural", "topk(5%) | qsgd(bits=8) | entropy",
                           "threshold(0.02) | natural_dither(levels=3)"}) {
    specs.emplace_back(pipe);
  }
  return specs;
}

// Codecs that are tried with long tensors even where time is short: each kind is among them.
inline std::vector<std::string> identity_long_specs(IdentityList list) {
  if (list == IdentityList::quick) return {};
  if (list == IdentityList::full) return identity_specs(list);
  return identity_specs(IdentityList::quick);
}

inline bool may_ring(const Codec& up, std::size_t elements) {
  return up.summable_from() || up.guarantee(elements).kind == Guarantee::Kind::unbiased;
}

// The spec on all topologies that can take it.
inline void add_identity_cases(const std::string& spec, std::size_t elements, std::size_t ranks,
                               std::vector<IdentityCase>& cases) {
  const auto add = [&](Topology topology) -> IdentityCase& {
    return cases.emplace_back(IdentityCase{.up = spec, .topology = topology, .elements = elements});
  };
  add(Topology::scatter);
  add(Topology::scatter).down = spec == "natural" ? "qsgd(bits=8)" : "natural";
  add(Topology::server);
  if (ranks > 1) add(Topology::server).dedicated = true;
  add(Topology::gather);
  if (may_ring(*make_codec(spec), elements)) add(Topology::ring);
  add(Topology::automatic);
}

inline std::vector<IdentityCase> identity_cases(IdentityList list, std::size_t ranks) {
  std::vector<IdentityCase> cases;
  for (const std::string& spec : identity_specs(list)) {
    for (const std::size_t elements : std::set<std::size_t>{0, 1, ranks - 1, 10007}) {
      add_identity_cases(spec, elements, ranks, cases);
    }
  }
  for (const std::string& spec : identity_long_specs(list)) {
    add_identity_cases(spec, kIdentityElementsMax, ranks, cases);
  }
  return cases;
}

// One rank that goes through the cases; its peers do the same.
class IdentityRank {
 public:
  explicit IdentityRank(Communicator& communicator) : communicator_(communicator) {}

  // Two exchanges, and the digest of what came out: "4 natural scatter 10007 0123456789abcdef".
  // Throws StartError if another rank has another digest.
  std::string run(const IdentityCase& identity_case) {
    char digest[17];
    std::snprintf(digest, sizeof digest, "%016" PRIx64, digest_of(identity_case));
    communicator_.impl().call([&](PeerLinks& links) {
      links.agreement.compare({{"digest of " + identity_case.text(), digest}});
    });
    return std::to_string(communicator_.size()) + ' ' + identity_case.text() + ' ' + digest;
  }

 private:
  std::uint64_t digest_of(const IdentityCase& identity_case) {
    const std::vector<TensorSize> shapes = {{"weights", identity_case.elements}};
    const std::unique_ptr<Exchange> exchange =
        make_exchange(communicator_, shapes, options_of(identity_case));
    RankTensors& tensors = tensors_of(shapes);
    std::uint64_t digest = 0;
    for (std::uint64_t step = 0; step < 2; ++step) {
      ExchangeCall call = tensors.call(step);
      call.weight = static_cast<float>(1 + communicator_.rank());
      const ExchangeReport report = exchange->run(call);
      digest = checksum(std::as_bytes(std::span(tensors.means[0])), digest);
      const std::byte poisoned{report.poisoned};
      digest = checksum({&poisoned, 1}, digest);
    }
    return digest;
  }

  ExchangeOptions options_of(const IdentityCase& identity_case) const {
    ExchangeOptions options{
        .up = make_codec(identity_case.up), .topology = identity_case.topology, .seed = 5};
    if (!identity_case.down.empty()) options.down = make_codec(identity_case.down);
    if (identity_case.dedicated) {
      options.server = communicator_.size() - 1;
      options.server_contributes = false;
    }
    return options;
  }

  // Made once for each length: the values cost more than their exchange.
  RankTensors& tensors_of(const std::vector<TensorSize>& shapes) {
    std::unique_ptr<RankTensors>& tensors = tensors_[shapes[0].elements];
    if (!tensors) tensors = std::make_unique<RankTensors>(communicator_.rank(), shapes);
    return *tensors;
  }

  Communicator& communicator_;
  std::map<std::size_t, std::unique_ptr<RankTensors>> tensors_;  // by length
};

// All cases of the list; `take` gets their lines.
inline void run_identity(Communicator& communicator, IdentityList list,
                         const std::function<void(const std::string& line)>& take) {
  IdentityRank rank(communicator);
  for (const IdentityCase& identity_case : identity_cases(list, communicator.size())) {
    take(rank.run(identity_case));
  }
}

}  // namespace gradwire
