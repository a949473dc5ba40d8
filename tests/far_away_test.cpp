// Ranks that are far apart: how many trips an exchange takes. Two trips are one round trip.
#include <gtest/gtest.h>

#include <barrier>
#include <memory>
#include <string>
#include <vector>

#include "gradwire/collective/exchange.h"
#include "gradwire/collective/test_support.h"
#include "gradwire/transport/tcp_transport.h"
#include "tests/relay.h"

namespace gradwire {
namespace {

constexpr std::size_t kRanks = 2;
constexpr std::size_t kElements = 20'000;

// Two ranks over tcp, whose connections go through the relay.
std::vector<std::unique_ptr<Transport>> far_transports(Relay& relay) {
  constexpr std::size_t kLinks = 2;
  std::vector<Channel> near, far;
  for (std::size_t link = 0; link < kLinks; ++link) {
    auto [one, other] = relay.connect();
    near.emplace_back(std::move(one), Channel::Role::connects);
    far.emplace_back(std::move(other), Channel::Role::accepts);
  }
  const std::vector<std::string> addresses = {"near", "far"};
  TcpMesh of_near, of_far;
  of_near.add(std::make_unique<TcpPeer>(1, "far", std::move(near)));
  of_far.add(std::make_unique<TcpPeer>(0, "near", std::move(far)));
  std::vector<std::unique_ptr<Transport>> transports;
  transports.push_back(make_tcp_transport(0, addresses, std::move(of_near)));
  transports.push_back(make_tcp_transport(1, addresses, std::move(of_far)));
  return transports;
}

// The trips of one step in which so many exchanges are started at once.
int trips_of_step(std::size_t groups) {
  Relay relay;
  auto transports = far_transports(relay);
  relay.start();
  std::barrier all_are_here(kRanks);
  std::atomic<int> trips = 0;
  run_ranks(kRanks, [&](std::size_t rank) {
    // Heartbeats are rare, so that they are not counted.
    Communicator communicator(std::move(transports[rank]),
                              {.run = 1, .peer_timeout = std::chrono::minutes(5)});
    const std::vector<TensorSize> shapes = {{"values", kElements}};
    std::vector<RankTensors> tensors;
    std::vector<std::unique_ptr<Exchange>> exchanges;
    for (std::size_t group = 0; group < groups; ++group) {
      tensors.emplace_back(rank, shapes);
      exchanges.push_back(make_exchange(
          communicator, shapes, {.up = make_codec("qsgd(bits=4)"), .topology = Topology::scatter}));
    }
    const auto step = [&](std::uint64_t number) {
      for (std::size_t i = 0; i < groups; ++i) exchanges[i]->start(tensors[i].call(number));
      for (auto& exchange : exchanges) exchange->finish();
    };
    step(0);
    all_are_here.arrive_and_wait();
    if (rank == 0) trips = relay.trips();
    all_are_here.arrive_and_wait();
    step(1);
    all_are_here.arrive_and_wait();
    if (rank == 0) trips = relay.trips() - trips;
    all_are_here.arrive_and_wait();
    communicator.close();
  });
  return trips;
}

TEST(FarAway, AnExchangeTakesAtMostTwoRoundTrips) {
  const int trips = trips_of_step(1);
  std::printf("far away: an exchange takes %d trips\n", trips);
  EXPECT_LE(trips, 2 * 2);
}

// Exchanges run one after the other: each announces its receivers, sends up, and sends down.
TEST(FarAway, AStepOfFourGroupsTakesLessThanEightRoundTrips) {
  const int trips = trips_of_step(4);
  std::printf("far away: a step of 4 groups takes %d trips\n", trips);
  EXPECT_LT(trips, 2 * 8);
}

}  // namespace
}  // namespace gradwire
