// The number of codec threads changes no bit of an exchange: not of the means, not of the bytes.
#include <gtest/gtest.h>

#include <chrono>

#include "gradwire/collective/test_support.h"
#include "gradwire/core/machine_threads.h"
#include "gradwire/wire/frame.h"

namespace gradwire {
namespace {

constexpr std::size_t kRanks = 2;

// One tensor that is measured by all threads, one of several pieces, and small ones.
const std::vector<TensorSize> kShapes = {
    {"large", 300'000}, {"middle", 140'000}, {"small", 1'000}, {"smaller", 17}};

struct Outcome {
  std::vector<std::uint64_t> checksums;  // of the means and of the own message, by rank
  std::vector<std::uint64_t> bytes_sent;

  bool operator==(const Outcome&) const = default;
};

Outcome exchange_with(std::size_t threads, const ExchangeOptions& options, bool walks) {
  Outcome outcome{.checksums = std::vector<std::uint64_t>(kRanks),
                  .bytes_sent = std::vector<std::uint64_t>(kRanks)};
  run_communicators(kRanks, {.run = 7, .codec_threads = threads}, [&](Communicator& communicator) {
    EXPECT_EQ(communicator.codec_threads(), threads);
    RankTensors tensors(communicator.rank(), kShapes);
    const auto exchange = make_exchange(communicator, kShapes, options);
    std::uint64_t& sum = outcome.checksums[communicator.rank()];
    for (std::uint64_t step = 0; step < 2; ++step) {
      outcome.bytes_sent[communicator.rank()] +=
          exchange->run(tensors.call(step)).traffic.bytes_sent;
      for (const auto& mean : tensors.means) {
        sum = sum * 31 + checksum(std::as_bytes(std::span(mean)));
      }
      if (!walks) continue;
      exchange->walk_own(
          [&](const Exchange::OwnPiece& piece) { sum = sum * 31 + checksum(piece.payload); });
    }
  });
  return outcome;
}

TEST(CodecThreads, ThreadsDoNotChangeTheBits) {
  for (const Topology topology :
       {Topology::scatter, Topology::server, Topology::gather, Topology::ring}) {
    for (const char* spec :
         {"none", "natural", "qsgd(bits=4)", "natural | entropy", "topk(1%)", "randk(1%)",
          "randk(1%, seed=shared)", "topk(1%) | natural | entropy", "sign"}) {
      const std::shared_ptr<const Codec> up = make_codec(spec);
      const bool is_unbiased = up->guarantee(1000).kind == Guarantee::Kind::unbiased;
      if (topology == Topology::ring && !is_unbiased) continue;
      const bool walks = !rounds_at_every_hop(topology, *up);
      const ExchangeOptions options{.up = up, .topology = topology, .seed = 3};
      const Outcome alone = exchange_with(1, options, walks);
      EXPECT_EQ(exchange_with(3, options, walks), alone) << name(topology) << ' ' << spec;
    }
  }
}

TEST(CodecThreads, RanksMayDiffer) {
  std::vector<std::vector<float>> means(kRanks);
  InProcessWorld world(kRanks);
  run_ranks(kRanks, [&](std::size_t rank) {
    Communicator communicator(world.join(rank), {.run = 7, .codec_threads = rank + 1});
    RankTensors tensors(rank, kShapes);
    make_exchange(communicator, kShapes, {.up = make_codec("topk(1%) | natural")})
        ->run(tensors.call());
    means[rank] = tensors.means[0];
    communicator.close();
  });
  EXPECT_EQ(means[0], means[1]);
}

TEST(CodecThreads, DefaultIsTheCoresOverTheRanksOnThisMachine) {
  for (const std::size_t ranks : {1, 2, 3}) {
    run_communicators(ranks, [&](Communicator& communicator) {
      EXPECT_EQ(communicator.codec_threads(), std::max<std::size_t>(1, machine_threads() / ranks));
    });
  }
}

TEST(CodecThreads, TooManyAreRefused) {
  InProcessWorld world(1);
  EXPECT_THROW(Communicator(world.join(0), {.codec_threads = 100'000}), Error);
}

}  // namespace
}  // namespace gradwire
