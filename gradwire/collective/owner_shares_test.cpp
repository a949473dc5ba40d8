#include "gradwire/collective/owner_shares.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "gradwire/core/error.h"

namespace gradwire {
namespace {

constexpr double kMega = 1e6;

std::vector<LinkRate> alike(std::initializer_list<double> rates) {
  std::vector<LinkRate> links;
  for (const double rate : rates) links.push_back({.out = rate, .in = rate});
  return links;
}

double sum(std::span<const double> shares) {
  return std::accumulate(shares.begin(), shares.end(), 0.0);
}

TEST(OwnerShares, EqualLinksShareEvenly) {
  for (const std::size_t ranks : {1U, 2U, 3U, 4U, 16U}) {
    const std::vector<LinkRate> links(ranks, LinkRate{.out = kMega, .in = kMega});
    const OwnerShares best = owner_shares(links, {.elements = 1'000'000});
    EXPECT_NEAR(sum(best.shares), 1, 1e-12);
    // 2 (N - 1) / N messages of 4 MB at 1 MB/s
    const double expected = 8.0 * static_cast<double>(ranks - 1) / static_cast<double>(ranks);
    EXPECT_NEAR(best.seconds, expected, 1e-9) << ranks;
    if (ranks == 2) continue;  // any cut is as good: what one rank sends less, it receives more
    for (const double share : best.shares) {
      EXPECT_NEAR(share, 1.0 / static_cast<double>(ranks), 1e-9);
    }
  }
}

TEST(OwnerShares, AThinLinkOwnsNothingAndCarriesItsOwnMessageOnly) {
  const auto links = alike({125 * kMega, 125 * kMega, 125 * kMega, 12.5 * kMega});
  const SharedExchange exchange{.elements = 16'777'216};
  const OwnerShares best = owner_shares(links, exchange);
  EXPECT_NEAR(best.shares[3], 0, 1e-9);
  EXPECT_NEAR(best.seconds, 16'777'216 * 4 / (12.5 * kMega), 1e-6);
  const std::vector<double> even(4, 0.25);
  EXPECT_NEAR(best.seconds / shared_seconds(links, even, exchange), 2.0 / 3, 1e-9);
}

TEST(OwnerShares, AllLinksFinishTogetherWhereTheyCan) {
  const auto links = alike({100 * kMega, 80 * kMega, 60 * kMega, 50 * kMega});
  const SharedExchange exchange{.elements = 1 << 20};
  const OwnerShares best = owner_shares(links, exchange);
  for (std::size_t i = 0; i < links.size(); ++i) {
    const double bytes = 4.0 * (1 << 20) * (1 - best.shares[i] + 3 * best.shares[i]);
    EXPECT_NEAR(bytes / links[i].out, best.seconds, 1e-9) << i;
  }
}

TEST(OwnerShares, NoOtherSharesAreFaster) {
  std::mt19937_64 engine(7);
  const auto uniform = [&] { return static_cast<double>(engine() >> 11) * 0x1p-53; };
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    const std::size_t ranks = 2 + trial % 5;
    std::vector<LinkRate> links;
    for (std::size_t i = 0; i < ranks; ++i) {
      links.push_back({.out = 1 + 99 * uniform(), .in = 1 + 99 * uniform()});
    }
    const SharedExchange exchange{
        .elements = 1000, .up_bytes = 0.1 + 4 * uniform(), .down_bytes = 0.1 + 4 * uniform()};
    const OwnerShares best = owner_shares(links, exchange);
    EXPECT_NEAR(sum(best.shares), 1, 1e-9);
    for (const double share : best.shares) EXPECT_GE(share, -1e-12);
    for (std::uint64_t other = 0; other < 50; ++other) {
      std::vector<double> shares(ranks);
      for (double& share : shares) share = uniform();
      const double total = sum(shares);
      for (double& share : shares) share /= total;
      EXPECT_GE(shared_seconds(links, shares, exchange), best.seconds * (1 - 1e-9));
    }
  }
}

TEST(OwnerShares, ASwitchLimitsAllLinksTogether) {
  const auto links = alike({kMega, kMega, kMega, kMega});
  SharedExchange exchange{.elements = 1'000'000, .switch_bytes_per_second = kMega};
  EXPECT_NEAR(owner_shares(links, exchange).seconds, 24, 1e-9);  // 4 ranks, 6 MB each
  exchange.switch_bytes_per_second = 100 * kMega;
  EXPECT_NEAR(owner_shares(links, exchange).seconds, 6, 1e-9);
}

TEST(OwnerShares, RatesThatAreNoneAreRefused) {
  EXPECT_THROW(owner_shares({}, {.elements = 1}), Error);
  EXPECT_THROW(owner_shares(alike({kMega, 0}), {.elements = 1}), Error);
  EXPECT_THROW(owner_shares(alike({kMega, -1}), {.elements = 1}), Error);
}

TEST(LinkRate, TextKeepsEveryBit) {
  const LinkRate rate{.out = 125e6 / 3, .in = 1e-9};
  const auto read = LinkRate::of_text(rate.text());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->out, rate.out);
  EXPECT_EQ(read->in, rate.in);
  for (const char* text : {"", " ", "1", "1 ", " 1 1", "1 0", "1 -1", "1 nan", "inf 1", "1 2 3"}) {
    EXPECT_FALSE(LinkRate::of_text(text)) << text;
  }
}

}  // namespace
}  // namespace gradwire
