// Every rank sends the code of its own values. Codes that are linear are added up on their way
// round the ring, where that is less to send; others everybody gets from everybody.
//
// The leader's values are of about the size that its indices say: it codes what is more or less.
#include <algorithm>
#include <string>

#include "gradwire/collective/all_gather.h"
#include "gradwire/collective/number_ring.h"
#include "gradwire/core/bit_pack.h"
#include "gradwire/core/stop_watch.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/method/lgc/scheme.h"
#include "gradwire/wire/frame.h"

namespace gradwire {
namespace {

void add(float number, std::span<float> values) {
  for (float& value : values) value += number;
}

class RingScheme final : public CodeScheme {
 public:
  RingScheme(Communicator& communicator, const CodeSchemeSetup& setup)
      : rank_(communicator.rank()),
        ranks_(communicator.size()),
        is_linear_(is_linear(setup.options.code)),
        code_({.kind = setup.options.code, .channels = setup.options.channels, .seed = setup.seed},
              setup.options.bits) {
    const std::size_t symbols = code_.symbols(setup.values_max);
    const bool is_ring = choose(setup);
    if (is_ring) {
      ring_ = std::make_unique<NumberRing>(communicator, "codes", symbols);
    } else {
      const auto hub =
          traits_of(setup.topology).has_server ? std::optional(setup.server) : std::nullopt;
      board_ = std::make_unique<AllGather>(
          communicator,
          AllGather::Options{
              .name = "codes", .bytes_max = code_.bytes(setup.values_max), .hub = hub});
    }
    topology_ = is_ring                                ? Topology::ring
                : traits_of(setup.topology).has_server ? setup.topology
                                                       : Topology::gather;
  }

  Topology topology() const override { return topology_; }
  std::vector<std::byte> lead(std::span<const float> /*own*/) const override { return {}; }
  std::size_t lead_bytes(std::size_t /*values*/) const override { return 0; }
  Autoencoder& code() override { return code_; }

  Outcome exchange(const LgcStep& turn, std::span<const std::byte> /*lead*/,
                   std::span<const float> own, bool is_poison) override {
    Outcome outcome{.own = std::vector<float>(own.size()),
                    .mean = std::vector<float>(own.size()),
                    .report = {}};
    double encode_seconds = 0;
    const std::vector<std::uint32_t> symbols = encode(turn, own, outcome.own, encode_seconds);
    if (ring_) {
      std::vector<std::uint32_t> sums(symbols.size());
      outcome.report = ring_->run({.step = turn.step,
                                   .widths = code_.widths(),
                                   .numbers = symbols,
                                   .sums = sums,
                                   .is_poison = is_poison});
      const StopWatch watch(outcome.report.phases.decode_seconds);
      decode_sums(sums, outcome.mean);
    } else {
      std::vector<std::byte> bytes(code_.bytes(own.size()));
      pack_numbers(symbols, code_.widths(), bytes);
      outcome.report = board_->run({.step = turn.step, .own = bytes, .is_poison = is_poison});
      const StopWatch watch(outcome.report.phases.decode_seconds);
      decode_pages(outcome.mean);
    }
    outcome.report.phases.encode_seconds += encode_seconds;
    return outcome;
  }

  std::vector<std::vector<float>> rehearse(const LgcStep& turn,
                                           std::span<const std::vector<float>> vectors) override {
    std::vector<std::vector<float>> made = without_sizes(turn, vectors);
    for (std::vector<float>& vector : made) code_.decode(code_.encode(vector), 1, 0, vector);
    add(1, made[turn.leader]);
    return made;
  }

  void learn(const LgcStep& turn, std::span<const std::vector<float>> vectors) override {
    code_.learn(without_sizes(turn, vectors), std::nullopt, turn.step);
  }

 private:
  // Whether to add up on a ring. By what is sent: frames of the ring are more.
  bool choose(const CodeSchemeSetup& setup) const {
    const TopologyTraits& traits = traits_of(setup.topology);
    const std::string topology = std::string("topology ") + name(setup.topology);
    if (traits.passes_sums && !is_linear_) {
      throw UsageError(topology + ": codes of code=deep cannot be added up; take gather or server");
    }
    if (traits.shares_evenly && !traits.passes_sums) {
      throw UsageError(topology + ": " + setup.options.spec +
                       " has no owners; take ring or gather");
    }
    if (setup.topology != Topology::automatic) return traits.passes_sums;
    const std::size_t values = setup.values_max;
    const std::size_t gather = (ranks_ - 1) * (kFrameHeaderBytes + code_.bytes(values));
    return is_linear_ &&
           NumberRing::bytes_sent(code_.symbols(values), code_.widths(), ranks_) < gather;
  }

  std::vector<std::vector<float>> without_sizes(const LgcStep& turn,
                                                std::span<const std::vector<float>> vectors) const {
    std::vector<std::vector<float>> rests(vectors.begin(), vectors.end());
    add(-1, rests[turn.leader]);
    return rests;
  }

  // The symbols of this rank's values, and what all take these for.
  std::vector<std::uint32_t> encode(const LgcStep& turn, std::span<const float> own,
                                    std::span<float> made, double& seconds) const {
    const StopWatch watch(seconds);
    const float size = turn.leader == rank_ ? 1 : 0;
    std::vector<float> rest(own.begin(), own.end());
    add(-size, rest);
    std::vector<std::uint32_t> symbols = code_.encode(rest);
    code_.decode(symbols, 1, 0, made);
    add(size, made);
    return symbols;
  }

  // A rank's symbols as they came.
  std::vector<std::uint32_t> unpack(std::size_t rank, std::size_t count) const {
    const std::span<const std::byte> page = board_->from(rank);
    const std::size_t wanted = packed_number_bytes(count, code_.widths());
    if (page.size() != wanted) {
      board_->refuse(rank, "a code of " + std::to_string(page.size()) + " bytes, not of " +
                               std::to_string(wanted));
    }
    std::vector<std::uint32_t> symbols(count);
    unpack_numbers(page, code_.widths(), symbols);
    return symbols;
  }

  // Of what all wrote, the mean of what is decoded: for linear codes, what is decoded of the mean.
  void decode_pages(std::span<float> mean) const {
    const std::size_t count = code_.symbols(mean.size());
    if (is_linear_) {
      std::vector<std::uint32_t> sums(count);
      for (std::size_t rank = 0; rank < ranks_; ++rank) {
        const std::vector<std::uint32_t> symbols = unpack(rank, count);
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += symbols[i];
      }
      decode_sums(sums, mean);
      return;
    }
    const float share = 1 / static_cast<float>(ranks_);
    std::vector<float> one(mean.size());
    std::ranges::fill(mean, share);  // the size of the leader's
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      code_.decode(unpack(rank, count), 1, 0, one);
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += share * one[i];
    }
  }

  void decode_sums(std::span<const std::uint32_t> sums, std::span<float> mean) const {
    code_.decode(sums, ranks_, 0, mean);
    add(1 / static_cast<float>(ranks_), mean);
  }

  const std::size_t rank_;
  const std::size_t ranks_;
  const bool is_linear_;
  Autoencoder code_;
  std::unique_ptr<NumberRing> ring_;  // this or the other
  std::unique_ptr<AllGather> board_;
  Topology topology_ = Topology::automatic;
};

}  // namespace

std::unique_ptr<CodeScheme> make_ring_scheme(Communicator& communicator,
                                             const CodeSchemeSetup& setup) {
  return std::make_unique<RingScheme>(communicator, setup);
}

}  // namespace gradwire
