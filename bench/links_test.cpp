#include "bench/links.h"

#include <mutex>
#include <set>

#include "gradwire/transport/test_support.h"
#include "gtest/gtest.h"

namespace gradwire::bench {
namespace {

TEST(Links, FewRanksMeasureAllPairsAndManyOnlyNeighbours) {
  EXPECT_EQ(pairs_of(1).size(), 0u);
  EXPECT_EQ(pairs_of(4).size(), 6u);
  EXPECT_EQ(pairs_of(8).size(), 28u);
  EXPECT_EQ(pairs_of(100).size(), 100u);
}

TEST(LinksThreads, EveryDirectionOfEveryPairIsMeasuredOnce) {
  const auto transports = in_process_transports(3);
  std::mutex mutex;
  std::set<std::pair<std::size_t, std::size_t>> measured;
  run_transports(transports, [&](Transport& transport) {
    for (const Link& link : measure_links(transport, std::chrono::seconds(60))) {
      EXPECT_EQ(link.from, transport.rank());
      EXPECT_GT(link.bits_per_second, 0);
      EXPECT_GT(link.latency_seconds, 0);
      const std::scoped_lock lock(mutex);
      EXPECT_TRUE(measured.emplace(link.from, link.to).second);
    }
  });
  EXPECT_EQ(measured.size(), 6u);
}

}  // namespace
}  // namespace gradwire::bench
