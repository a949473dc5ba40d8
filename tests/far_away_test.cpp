// Ranks that are far apart: how many trips an exchange takes. Two trips are one round trip.
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gradwire/collective/exchange.h"
#include "gradwire/collective/test_support.h"
#include "gradwire/transport/tcp_transport.h"
#include "tests/relay.h"

namespace gradwire {
namespace {

constexpr std::size_t kRanks = 2;

// What the ranks exchange in a step: so many exchanges, started at once.
struct FarStep {
  std::size_t groups = 1;
  std::size_t elements = 20'000;
  std::size_t segment_elements_max = 0;
};

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

// `on_step` is called on rank 0 before the second step and after it, when all is quiet.
void run_far_step(Relay& relay, const FarStep& wanted, const std::function<void()>& on_step) {
  auto transports = far_transports(relay);
  relay.start();
  std::barrier all_are_here(kRanks);
  run_ranks(kRanks, [&](std::size_t rank) {
    // Heartbeats are rare, so that they are not counted.
    Communicator communicator(std::move(transports[rank]),
                              {.run = 1, .peer_timeout = std::chrono::minutes(5)});
    const std::vector<TensorSize> shapes = {{"values", wanted.elements}};
    std::vector<RankTensors> tensors;
    std::vector<std::unique_ptr<Exchange>> exchanges;
    for (std::size_t group = 0; group < wanted.groups; ++group) {
      tensors.emplace_back(rank, shapes);
      exchanges.push_back(make_exchange(communicator, shapes,
                                        {.up = make_codec("qsgd(bits=4)"),
                                         .topology = Topology::scatter,
                                         .segment_elements_max = wanted.segment_elements_max}));
    }
    const auto step = [&](std::uint64_t number) {
      for (std::size_t i = 0; i < wanted.groups; ++i) exchanges[i]->start(tensors[i].call(number));
      for (auto& exchange : exchanges) exchange->finish();
      all_are_here.arrive_and_wait();
      if (rank == 0) on_step();
      all_are_here.arrive_and_wait();
    };
    step(0);
    step(1);
    communicator.close();
  });
}

// The trips of one step. A busy machine can only make the count too high, so the lowest of three is
// taken.
int trips_of_step(const FarStep& step, int allowed) {
  int lowest = std::numeric_limits<int>::max();
  for (int attempt = 0; attempt < 3 && lowest > allowed; ++attempt) {
    CountingRelay relay;
    int before = 0, trips = 0;
    run_far_step(relay, step, [&] {
      trips = relay.trips() - before;
      relay.wait_until_quiet();  // what a step leaves on its way is not the next one's
      before = relay.trips();
    });
    lowest = std::min(lowest, trips);
  }
  return lowest;
}

TEST(FarAway, AnExchangeTakesAtMostTwoRoundTrips) {
  const int trips = trips_of_step({}, 2 * 2);
  std::printf("far away: an exchange takes %d trips\n", trips);
  EXPECT_LE(trips, 2 * 2);
}

// With many small segments it is four trips or five.
TEST(FarAway, AnExchangeOfManySegmentsTakesAtMostFiveTrips) {
  constexpr std::size_t kSegments = 8;  // of a chunk; a tensor's own would be at most 4 or so
  const FarStep step{.segment_elements_max = FarStep().elements / kRanks / kSegments};
  const int trips = trips_of_step(step, 5);
  std::printf("far away: an exchange of %zu segments takes %d trips\n", kRanks * kSegments, trips);
  EXPECT_LE(trips, 5);
}

// Exchanges overlap: all announce their receivers at once, and none waits for the means of another.
TEST(FarAway, AStepOfFourGroupsTakesAtMostThreeRoundTrips) {
  const int trips = trips_of_step({.groups = 4}, 2 * 3);
  std::printf("far away: a step of 4 groups takes %d trips\n", trips);
  EXPECT_LE(trips, 2 * 3);
}

// 25 ms each way and 10 Mbit/s: prints the time of a step beside that of its bytes and of the round
// trips that are allowed. Times are no claim of a test.
TEST(FarAway, StepsOverALinkThatDelays) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kDelay{25};
  constexpr double kBytesPerSecond = 1.25e6;
  for (const auto& [groups, round_trips] : {std::pair(1, 2), {4, 3}}) {
    SlowRelay relay(kDelay, kBytesPerSecond);
    Clock::time_point before;
    std::size_t bytes_before = 0, bytes = 0;
    std::chrono::duration<double, std::milli> step{};
    const FarStep wanted{.groups = static_cast<std::size_t>(groups), .elements = 100'000};
    run_far_step(relay, wanted, [&] {
      const Clock::time_point now = Clock::now();
      step = now - std::exchange(before, now);
      bytes = relay.bytes() - std::exchange(bytes_before, relay.bytes());
    });
    const double of_bytes = 1e3 * static_cast<double>(bytes) / kBytesPerSecond;
    std::printf(
        "far away: a step of %d groups takes %.0f ms; its bytes %.0f ms, and with %d round "
        "trips %.0f ms\n",
        groups, step.count(), of_bytes, round_trips,
        of_bytes + round_trips * 2.0 * static_cast<double>(kDelay.count()));
  }
}

}  // namespace
}  // namespace gradwire
