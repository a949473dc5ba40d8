// Steady exchanges do not allocate: measured by counting every allocation of this program, on the
// threads of all ranks.
#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <cstdio>
#include <utility>

#include "gradwire/collective/test_support.h"
#include "gradwire/transport/openssl_memory_test_support.h"
#include "gradwire/transport/tcp.h"
#include "gradwire/transport/tcp_test_support.h"

namespace gradwire {
namespace {

constexpr std::size_t kRanks = 2;
constexpr std::uint64_t kWarmUpSteps = 4, kSteps = 6;

// Allocations of all ranks while they take some steps, after some others. In each step so many
// exchanges are under way at once.
std::size_t allocations_in_steps(const MakeTransport& make_transport,
                                 const std::vector<TensorSize>& shapes, const char* spec,
                                 Topology topology, std::size_t codec_threads = 1,
                                 std::size_t exchange_count = 1) {
  std::barrier all_are_here(kRanks);
  std::atomic<std::size_t> before = 0, after = 0;
  const CommunicatorOptions options{.run = 7, .codec_threads = codec_threads};
  run_communicators(kRanks, make_transport, options, [&](Communicator& communicator) {
    std::vector<RankTensors> tensors;
    std::vector<std::unique_ptr<Exchange>> exchanges;
    for (std::size_t i = 0; i < exchange_count; ++i) {
      tensors.emplace_back(communicator.rank(), shapes);
      exchanges.push_back(
          make_exchange(communicator, shapes,
                        {.up = make_codec(spec),
                         .topology = topology,
                         .segment_elements_max = codec_threads > 1 ? std::size_t{1} << 18 : 4096}));
    }
    const auto run = [&](std::uint64_t first, std::uint64_t count) {
      for (std::uint64_t step = first; step < first + count; ++step) {
        for (std::size_t i = 0; i < exchange_count; ++i) exchanges[i]->start(tensors[i].call(step));
        for (const auto& exchange : exchanges) exchange->finish();
      }
    };
    run(0, kWarmUpSteps);
    all_are_here.arrive_and_wait();
    if (communicator.rank() == 0) before = allocations.load();
    all_are_here.arrive_and_wait();
    run(kWarmUpSteps, kSteps);
    all_are_here.arrive_and_wait();
    if (communicator.rank() == 0) after = allocations.load();
    all_are_here.arrive_and_wait();
  });
  return after - before;
}

template <class MakeWorld>
void expect_no_allocations(const MakeWorld& make_world) {
  if (GW_ALLOCATOR_IS_TAKEN) GTEST_SKIP() << "a sanitizer counts allocations by itself";
  ASSERT_GT(allocations, 0u);  // the count is alive
  std::vector<TensorSize> list;
  for (std::size_t i = 0; i < 50; ++i) list.push_back({"t" + std::to_string(i), 17 * i * i % 900});
  for (const auto& shapes : {std::vector<TensorSize>{{"weights", 100000}}, list}) {
    for (const Topology topology :
         {Topology::scatter, Topology::server, Topology::gather, Topology::ring}) {
      for (const char* spec :
           {"none", "natural", "qsgd(bits=4)", "topk(5%)", "natural | entropy"}) {
        if (topology == Topology::ring && std::string_view(spec) == "topk(5%)") continue;  // biased
        const auto world = make_world();
        const MakeTransport make_transport = [&](std::size_t rank) { return world->join(rank); };
        EXPECT_EQ(allocations_in_steps(make_transport, shapes, spec, topology), 0u)
            << name(topology) << ' ' << spec << ", tensors: " << shapes.size();
      }
    }
  }
}

// Ranks that meet over TCP, with a secret if there is one.
class TcpWorld {
 public:
  explicit TcpWorld(SecurityOptions security = {}) : security_(std::move(security)) {}

  std::unique_ptr<Transport> join(std::size_t rank) {
    return make_tcp_transport(
        {.meeting = rendezvous_.options(rank, kRanks), .streams = 2, .security = security_});
  }

 private:
  RendezvousDirectory rendezvous_;
  const SecurityOptions security_;
};

TEST(ExchangeAllocation, ThreadsDoNotAllocateAfterWarmUp) {
  expect_no_allocations([] { return std::make_unique<InProcessWorld>(kRanks); });
}

TEST(ExchangeAllocation, ThreadsOverTcpDoNotAllocateAfterWarmUp) {
  expect_no_allocations([] { return std::make_unique<TcpWorld>(); });
}

// OpenSSL's own blocks for each record are not ours, and are counted apart.
TEST(ExchangeAllocation, ThreadsOverTlsDoNotAllocateApartFromOpenSsl) {
  if (GW_ALLOCATOR_IS_TAKEN) GTEST_SKIP() << "a sanitizer counts allocations by itself";
  ASSERT_TRUE(openssl_memory.is_counted);
  std::array<std::byte, Secret::kBytes> secret;
  secret.fill(std::byte{5});
  const std::size_t before = openssl_memory.allocations;
  expect_no_allocations(
      [&] { return std::make_unique<TcpWorld>(SecurityOptions{.secret = Secret(secret)}); });
  std::printf("OpenSSL itself allocated %zu times\n", openssl_memory.allocations - before);
}

TEST(ExchangeAllocation, ThreadsDoNotAllocateWhenExchangesOverlap) {
  if (GW_ALLOCATOR_IS_TAKEN) GTEST_SKIP() << "a sanitizer counts allocations by itself";
  const std::vector<TensorSize> shapes = {{"weights", 30'000}};
  for (const Topology topology : {Topology::scatter, Topology::gather, Topology::ring}) {
    InProcessWorld threads(kRanks);
    TcpWorld processes;
    for (const MakeTransport& make_transport :
         {MakeTransport([&](std::size_t rank) { return threads.join(rank); }),
          MakeTransport([&](std::size_t rank) { return processes.join(rank); })}) {
      EXPECT_EQ(allocations_in_steps(make_transport, shapes, "natural", topology, 1, 4), 0u)
          << name(topology);
    }
  }
}

TEST(ExchangeAllocation, ThreadsDoNotAllocateWhenSeveralEncode) {
  if (GW_ALLOCATOR_IS_TAKEN) GTEST_SKIP() << "a sanitizer counts allocations by itself";
  const std::vector<TensorSize> shapes = {{"large", 300'000}, {"middle", 140'000}, {"small", 100}};
  for (const Topology topology : {Topology::scatter, Topology::gather, Topology::ring}) {
    for (const char* spec : {"none", "qsgd(bits=4)", "natural | entropy", "topk(5%)"}) {
      if (topology == Topology::ring && std::string_view(spec) == "topk(5%)") continue;  // biased
      InProcessWorld world(kRanks);
      const MakeTransport make_transport = [&](std::size_t rank) { return world.join(rank); };
      EXPECT_EQ(allocations_in_steps(make_transport, shapes, spec, topology, 2), 0u)
          << name(topology) << ' ' << spec;
    }
  }
}

}  // namespace
}  // namespace gradwire
