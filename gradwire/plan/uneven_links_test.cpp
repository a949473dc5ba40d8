#include "gradwire/plan/uneven_links.h"

#include <vector>

#include "gtest/gtest.h"

namespace gradwire::plan {
namespace {

constexpr Topology kAll[] = {Topology::scatter, Topology::server, Topology::gather, Topology::ring};

PlannedExchange exchange_of(Topology topology, std::size_t ranks) {
  return {.topology = topology, .elements = 1'000'000, .ranks = ranks, .segment_elements = 10'000};
}

double rate_of(Topology topology, const std::vector<double>& rates, double switch_rate = 0) {
  return even_rate(exchange_of(topology, rates.size()),
                   {.bytes_per_second = rates, .switch_bytes_per_second = switch_rate});
}

TEST(UnevenLinks, EqualLinksHaveTheirOwnRate) {
  for (const Topology topology : kAll) EXPECT_EQ(rate_of(topology, {7e6, 7e6, 7e6}), 7e6);
  EXPECT_EQ(rate_of(Topology::scatter, {7e6}), 7e6);
}

TEST(UnevenLinks, WhereAllLinksCarryAsMuchTheThinnestDecides) {
  EXPECT_EQ(rate_of(Topology::ring, {10e6, 10e6, 1e6}), 1e6);
  EXPECT_EQ(rate_of(Topology::gather, {10e6, 10e6, 1e6}), 1e6);
}

// Three links of 10 and one of 1: the thin one carries its message and its mean alone, 2/3 of what
// an even cut would make of it.
TEST(UnevenLinks, OwnersOfScatterShareByTheirLinks) {
  EXPECT_NEAR(rate_of(Topology::scatter, {10e6, 10e6, 10e6, 1e6}), 1.5e6, 1);
}

TEST(UnevenLinks, TheServersLinkCarriesWhatAllOthersSend) {
  EXPECT_EQ(rate_of(Topology::server, {2e6, 10e6, 10e6}), 2e6);
  EXPECT_EQ(rate_of(Topology::server, {10e6, 10e6, 1e6}), 2e6);  // as long as the server's with 2e6
}

TEST(UnevenLinks, ASwitchIsSharedByAllLinks) {
  for (const Topology topology : {Topology::scatter, Topology::gather, Topology::ring}) {
    EXPECT_NEAR(rate_of(topology, {10e6, 10e6, 10e6, 10e6}, 8e6), 2e6, 1);
    EXPECT_NEAR(rate_of(topology, {10e6, 10e6, 10e6, 10e6}, 800e6), 10e6, 1);
  }
  EXPECT_EQ(rate_of(Topology::server, {10e6, 10e6, 10e6}, 8e6), 4e6);
}

TEST(UnevenLinks, TheBusiestOwnerSendsMoreThanWithEqualShares) {
  const PlannedExchange exchange = exchange_of(Topology::scatter, 4);
  const std::vector<double> rates = {10e6, 10e6, 10e6, 1e6};
  // A third each: 2/3 of the message, and three means of a third.
  EXPECT_NEAR(bytes_sent(exchange, {.bytes_per_second = rates}), 4e6 * (2.0 / 3 + 1), 1);
  const std::vector<double> equal(4, 1e6);
  EXPECT_EQ(bytes_sent(exchange, {.bytes_per_second = equal}), bytes_sent(exchange));
}

}  // namespace
}  // namespace gradwire::plan
