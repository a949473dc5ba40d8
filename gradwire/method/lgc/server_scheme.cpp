// The leader sends the code of its values, for all: a decoder for every rank makes of it what this
// rank has in common with the leader, and one more what the leader itself has. What is new with a
// rank, the largest of what is left, it sends by a codec. Everybody can do what the server does, so
// that it only has to pass messages on, where there is one.
#include <string>

#include "gradwire/collective/all_gather.h"
#include "gradwire/core/bit_pack.h"
#include "gradwire/core/stop_watch.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/method/lgc/scheme.h"

namespace gradwire {
namespace {

class ServerScheme final : public CodeScheme {
 public:
  ServerScheme(Communicator& communicator, const CodeSchemeSetup& setup)
      : rank_(communicator.rank()),
        ranks_(communicator.size()),
        seed_(setup.seed),
        code_({.kind = setup.options.code,
               .channels = setup.options.channels,
               .decoders = communicator.size() + 1,
               .seed = setup.seed},
              setup.options.bits),
        codec_(make_codec(setup.options.innovation)),
        topology_(traits_of(setup.topology).has_server ? setup.topology : Topology::gather) {
    if (traits_of(setup.topology).shares_evenly) {
      throw UsageError("topology " + std::string(name(setup.topology)) + ": " + setup.options.spec +
                       " sends what is new with a rank to all; take server or gather");
    }
    const auto hub = traits_of(topology_).has_server ? std::optional(setup.server) : std::nullopt;
    board_ = std::make_unique<AllGather>(
        communicator, AllGather::Options{.name = "innovations",
                                         .bytes_max = codec_->payload_bytes_max(setup.values_max),
                                         .hub = hub});
  }

  Topology topology() const override { return topology_; }
  std::size_t lead_bytes(std::size_t values) const override { return code_.bytes(values); }
  Autoencoder& code() override { return code_; }

  std::vector<std::byte> lead(std::span<const float> own) const override {
    std::vector<std::byte> bytes(code_.bytes(own.size()));
    pack_numbers(code_.encode(own), code_.widths(), bytes);
    return bytes;
  }

  Outcome exchange(const LgcStep& turn, std::span<const std::byte> lead, std::span<const float> own,
                   bool is_poison) override {
    std::vector<std::uint32_t> symbols(code_.symbols(own.size()));
    std::vector<std::byte> payload;
    double encode_seconds = 0;
    {
      const StopWatch watch(encode_seconds);
      unpack_numbers(lead, code_.widths(), symbols);
      payload = encode_rest(turn, rank_, guess(turn, symbols, rank_, own.size()), own);
    }
    Outcome outcome{.own = {}, .mean = std::vector<float>(own.size()), .report = {}};
    outcome.report = board_->run({.step = turn.step, .own = payload, .is_poison = is_poison});
    outcome.report.phases.encode_seconds = encode_seconds;
    if (outcome.report.poisoned) return outcome;
    const StopWatch watch(outcome.report.phases.decode_seconds);
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      std::vector<float> values = guess(turn, symbols, rank, own.size());
      add_rest(rank, board_->from(rank), values);
      add_share(values, outcome.mean);
      if (rank == rank_) outcome.own = std::move(values);
    }
    return outcome;
  }

  std::vector<std::vector<float>> rehearse(const LgcStep& turn,
                                           std::span<const std::vector<float>> vectors) override {
    const std::vector<std::uint32_t> symbols = code_.encode(vectors[turn.leader]);
    std::vector<std::vector<float>> made;
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      made.push_back(guess(turn, symbols, rank, vectors[rank].size()));
      add_rest(rank, encode_rest(turn, rank, made[rank], vectors[rank]), made[rank]);
    }
    return made;
  }

  void learn(const LgcStep& turn, std::span<const std::vector<float>> vectors) override {
    code_.learn(vectors, turn.leader, turn.step);
  }

 private:
  // What the leader's code says of a rank's values.
  std::vector<float> guess(const LgcStep& turn, std::span<const std::uint32_t> symbols,
                           std::size_t rank, std::size_t count) const {
    std::vector<float> values(count);
    code_.decode(symbols, 1, rank == turn.leader ? ranks_ : rank, values);
    return values;
  }

  std::vector<std::byte> encode_rest(const LgcStep& turn, std::size_t rank,
                                     std::span<const float> guessed, std::span<const float> own) {
    std::vector<float> rest(own.begin(), own.end());
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= guessed[i];
    const Rng rng{.seed = seed_,
                  .step = turn.step,
                  .tensor = Rng::tensor_id("innovation"),
                  .rank = static_cast<std::uint32_t>(rank)};
    codec_->measure(rest, rng, scale_);
    std::vector<std::byte> payload(codec_->payload_bytes_max(rest.size()));
    const Encoded encoded =
        codec_->encode(scale_, {.values = rest, .first = 0}, rng, payload, workspace_);
    payload.resize(encoded.bytes);
    return payload;
  }

  void add_rest(std::size_t rank, std::span<const std::byte> payload, std::span<float> values) {
    const auto decoded = codec_->decode_add(payload, 1, values, workspace_);
    if (decoded) return;
    board_->refuse(rank, std::string(decoded.error().what) + " (byte " +
                             std::to_string(decoded.error().byte_offset) + ')');
  }

  void add_share(std::span<const float> values, std::span<float> mean) const {
    const float share = 1 / static_cast<float>(ranks_);
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += share * values[i];
  }

  const std::size_t rank_;
  const std::size_t ranks_;
  const std::uint64_t seed_;
  Autoencoder code_;
  std::shared_ptr<const Codec> codec_;
  const Topology topology_;
  std::unique_ptr<AllGather> board_;
  Scale scale_;
  Workspace workspace_;
};

}  // namespace

std::unique_ptr<CodeScheme> make_server_scheme(Communicator& communicator,
                                               const CodeSchemeSetup& setup) {
  return std::make_unique<ServerScheme>(communicator, setup);
}

}  // namespace gradwire
