// Exchanges between ranks whose links have different rates: who averages changes, the mean does
// not.
#include <gtest/gtest.h>

#include "gradwire/collective/method_exchange.h"
#include "gradwire/collective/test_support.h"
#include "gradwire/core/error.h"

namespace gradwire {
namespace {

struct Outcome {
  std::vector<std::vector<float>> means;  // by rank
  std::vector<std::size_t> owned;         // elements that a rank averages
};

constexpr std::size_t kElements = std::size_t{1} << 16;

Outcome exchange_once(const char* spec, Topology topology, std::span<const double> rates) {
  constexpr std::size_t kRanks = 4;
  Outcome outcome{.means = std::vector<std::vector<float>>(kRanks),
                  .owned = std::vector<std::size_t>(kRanks)};
  InProcessWorld world(kRanks);
  run_ranks(kRanks, [&](std::size_t rank) {
    CommunicatorOptions options{.run = 7};
    if (rank < rates.size()) options.link = LinkRate{.out = rates[rank], .in = rates[rank]};
    Communicator communicator(world.join(rank), options);
    const std::vector<TensorSize> shapes = {{"weights", kElements}};
    RankTensors tensors(rank, shapes);
    const auto exchange = make_method_exchange(communicator, shapes,
                                               {.up = make_codec(spec), .topology = topology}, {});
    exchange->run(tensors.call());
    outcome.means[rank] = tensors.means[0];
    for (const TensorPiece& piece : exchange->owned()) outcome.owned[rank] += piece.elements;
    communicator.close();
  });
  return outcome;
}

TEST(LinksThread, OwnersFollowTheirLinksAndTheMeanStaysTheSame) {
  const Outcome even = exchange_once("none", Topology::scatter, {});
  for (const std::size_t owned : even.owned) EXPECT_EQ(owned, kElements / 4);
  const Outcome some = exchange_once("none", Topology::scatter, std::vector{4.0, 3.0, 4.0, 3.0});
  EXPECT_EQ(some.means, even.means);
  EXPECT_GT(some.owned[0], some.owned[1]);
  EXPECT_EQ(some.owned[0] + some.owned[1] + some.owned[2] + some.owned[3], kElements);
  const Outcome thin = exchange_once("none", Topology::scatter, std::vector{10.0, 10.0, 10.0, 1.0});
  EXPECT_EQ(thin.means, even.means);
  EXPECT_EQ(thin.owned[3], 0U);
}

TEST(LinksThread, AllRanksGetTheSameBitsWithACompressedDownlink) {
  const Outcome outcome =
      exchange_once("qsgd(bits=4)", Topology::scatter, std::vector{1.0, 2.0, 3.0, 4.0});
  for (const std::vector<float>& mean : outcome.means) EXPECT_EQ(mean, outcome.means[0]);
}

TEST(LinksThread, RatesOfSomeRanksOnlyAreNotUsed) {
  const Outcome outcome = exchange_once("none", Topology::scatter, std::vector{10.0, 5.0});
  for (const std::size_t owned : outcome.owned) EXPECT_EQ(owned, kElements / 4);
}

TEST(LinksThread, TopologiesWithoutOwnersDoNotCare) {
  for (const Topology topology : {Topology::gather, Topology::ring}) {
    const Outcome outcome = exchange_once("none", topology, std::vector{1.0, 2.0, 3.0, 4.0});
    EXPECT_EQ(outcome.means, exchange_once("none", topology, {}).means);
  }
}

TEST(LinksThread, ARateThatIsNoneIsRefused) {
  InProcessWorld world(1);
  EXPECT_THROW(Communicator(world.join(0), {.link = LinkRate{.out = 0, .in = 1}}), Error);
}

}  // namespace
}  // namespace gradwire
