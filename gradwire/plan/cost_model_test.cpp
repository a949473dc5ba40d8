// Tests of the cost model: its limits, which can be worked out by hand, and what must grow with
// what.
#include "gradwire/plan/cost_model.h"

#include <vector>

#include "gtest/gtest.h"

namespace gradwire::plan {
namespace {

constexpr Topology kAll[] = {Topology::scatter, Topology::server, Topology::gather, Topology::ring};
constexpr double kFrameBytes = 84;

// A million floats in segments of a quarter of a chunk, and a processor that takes its time.
PlannedExchange exchange_of(Topology topology, std::size_t ranks) {
  constexpr std::size_t kElements = 1'000'000;
  const bool is_shared = topology == Topology::scatter || topology == Topology::ring;
  return {.topology = topology,
          .elements = kElements,
          .ranks = ranks,
          .segment_elements = kElements / (is_shared ? 4 * ranks : 4),
          .codec = {.encode = 1e-9, .decode_add = 2e-9, .encode_mean = 1e-9, .decode = 0.5e-9}};
}

// Computes nothing: all is a matter of the link.
PlannedExchange free_of(Topology topology, std::size_t ranks) {
  PlannedExchange exchange = exchange_of(topology, ranks);
  exchange.codec = {};
  return exchange;
}

// So fast that only computing counts.
constexpr Network kNoNetwork{.bytes_per_second = 1e30};

double seconds_at(const PlannedExchange& exchange, double bytes_per_second,
                  double latency_seconds = 0) {
  return exchange_seconds(
      exchange, {.bytes_per_second = bytes_per_second, .latency_seconds = latency_seconds});
}

TEST(CostModel, OnAnInfiniteLinkOnlyComputingIsLeft) {
  // By hand, in nanoseconds for each element: what a rank encodes, adds, encodes and decodes.
  constexpr double kMs = 1e-3;  // of a million elements, a nanosecond each
  const auto ms = [](Topology topology) {
    return exchange_seconds(exchange_of(topology, 4), kNoNetwork) / kMs;
  };
  EXPECT_NEAR(ms(Topology::gather), 1 + 4 * 2 + 0.5, 1e-6);
  EXPECT_NEAR(ms(Topology::scatter), 1 + 2 + 0.25 + 0.5, 1e-6);
  EXPECT_NEAR(ms(Topology::server), 1 + 4 * 2 + 1 + 0.5 + 0.5 / 4, 1e-6);  // the worker's last
  EXPECT_NEAR(ms(Topology::ring), 1 + 2 * 0.75 + 0.5, 1e-6);
}

TEST(CostModel, WithoutComputingOnlyTheBytesOfTheBusiestLinkAreLeft) {
  constexpr double kRate = 1e6;
  for (const Topology topology : {Topology::scatter, Topology::gather, Topology::ring}) {
    for (const std::size_t ranks : {2, 3, 8, 100}) {
      const PlannedExchange exchange = free_of(topology, ranks);
      EXPECT_NEAR(seconds_at(exchange, kRate), bytes_sent(exchange) / kRate,
                  1e-6 * bytes_sent(exchange) / kRate)
          << static_cast<int>(topology) << ", " << ranks;
    }
  }
}

TEST(CostModel, EverythingGoesThroughTheServersOneLink) {
  const PlannedExchange exchange = free_of(Topology::server, 5);
  constexpr double kRate = 1e6;
  // What goes down follows what came up a segment behind.
  const double up = 4 * (4e6 + 4 * kFrameBytes) / kRate;
  EXPECT_NEAR(seconds_at(exchange, kRate), up * (1 + 1.0 / 4), 1e-9);
}

TEST(CostModel, BytesAreThoseOfTheTopologysFormula) {
  const auto near = [](double bytes, double expected) {
    EXPECT_NEAR(bytes, expected, 1e-3 * expected);
  };
  near(bytes_sent(free_of(Topology::scatter, 4)), 2 * 4e6 * 3 / 4);
  near(bytes_sent(free_of(Topology::ring, 4)), 2 * 4e6 * 3 / 4);
  near(bytes_sent(free_of(Topology::gather, 4)), 3 * 4e6);
  near(bytes_sent(free_of(Topology::server, 4)), 3 * 4e6);
  near(worker_bytes_sent(free_of(Topology::server, 4)), 4e6);
  near(worker_bytes_sent(free_of(Topology::gather, 4)), 3 * 4e6);
}

TEST(CostModel, LatencyCountsOncePerHopThatIsWaitedFor) {
  constexpr double kLatency = 1;
  const auto hops = [](Topology topology) {
    PlannedExchange exchange = free_of(topology, 6);
    return exchange_seconds(exchange, {.bytes_per_second = 1e30, .latency_seconds = kLatency});
  };
  EXPECT_NEAR(hops(Topology::gather), 1, 1e-9);
  EXPECT_NEAR(hops(Topology::scatter), 2, 1e-9);
  EXPECT_NEAR(hops(Topology::server), 2, 1e-9);
  EXPECT_NEAR(hops(Topology::ring), 2 * 5, 1e-9);
}

TEST(CostModel, OneRankSendsNothing) {
  for (const Topology topology : kAll) {
    EXPECT_EQ(bytes_sent(exchange_of(topology, 1)), 0);
    EXPECT_EQ(seconds_at(free_of(topology, 1), 1, 1), 0) << static_cast<int>(topology);
    EXPECT_EQ(seconds_at(exchange_of(topology, 1), 1, 1),
              exchange_seconds(exchange_of(topology, 1), kNoNetwork));
  }
}

TEST(CostModel, NothingToExchangeTakesNoTime) {
  PlannedExchange exchange = exchange_of(Topology::ring, 4);
  exchange.elements = 0;
  EXPECT_EQ(seconds_at(exchange, 1, 1), 0);
  EXPECT_EQ(bytes_sent(exchange), 0);
}

TEST(CostModel, FasterLinksAndShorterWaysNeverTakeLonger) {
  for (const Topology topology : kAll) {
    for (const std::size_t ranks : {1, 2, 4, 16, 1000}) {
      double before = 1e300;
      for (double rate = 1e4; rate < 1e13; rate *= 1.7) {
        const double seconds = seconds_at(exchange_of(topology, ranks), rate, 1e-4);
        EXPECT_LE(seconds, before * (1 + 1e-12)) << static_cast<int>(topology) << ", " << ranks;
        EXPECT_LE(seconds_at(exchange_of(topology, ranks), rate, 1e-5), seconds * (1 + 1e-12));
        before = seconds;
      }
    }
  }
}

TEST(CostModel, FewerBytesNeverTakeLonger) {
  for (const Topology topology : kAll) {
    PlannedExchange exchange = exchange_of(topology, 4);
    double before = 0;
    for (const double bytes : {0.01, 0.1, 1.0, 2.0, 4.0}) {
      exchange.up_bytes = exchange.down_bytes = bytes;
      const double seconds = seconds_at(exchange, 1e9, 1e-4);
      EXPECT_GE(seconds, before);
      before = seconds;
    }
  }
}

TEST(CostModel, SegmentsOverlapComputingAndSending) {
  for (const Topology topology : kAll) {
    PlannedExchange exchange = exchange_of(topology, 2);
    const double computing = exchange_seconds(exchange, kNoNetwork);
    const double sending = seconds_at(free_of(topology, 2), 1e9);
    const double both = seconds_at(exchange, 1e9);
    EXPECT_LT(both, computing + sending) << static_cast<int>(topology);
    EXPECT_GE(both, std::max(computing, sending)) << static_cast<int>(topology);
    exchange.segment_elements = exchange.elements;  // nothing to overlap
    EXPECT_GT(seconds_at(exchange, 1e9), both) << static_cast<int>(topology);
  }
}

TEST(CostModel, WhatWaitsForAllIsNotHidden) {
  PlannedExchange exchange = exchange_of(Topology::scatter, 4);
  exchange.codec.decode = 3e-9;
  const double hidden = seconds_at(exchange, 1e9);
  exchange.decodes_last = true;
  const double last = seconds_at(exchange, 1e9);
  EXPECT_GT(last, hidden);
  exchange.mean_waits = true;
  EXPECT_GT(seconds_at(exchange, 1e9), last);
  PlannedExchange early = exchange_of(Topology::scatter, 4);
  early.codec.prepare = 5e-9;
  EXPECT_NEAR(seconds_at(early, 1e9),
              seconds_at(exchange_of(Topology::scatter, 4), 1e9) + 5e-9 * 1e6, 1e-9);
}

TEST(CostModel, WorkersThatShareACoreTakeTurns) {
  const auto seconds = [](double cores) {
    return exchange_seconds(exchange_of(Topology::gather, 4),
                            {.bytes_per_second = 1e30, .cores = cores});
  };
  EXPECT_EQ(seconds(2), seconds(8));
  EXPECT_NEAR(seconds(1), slowdown(1) * seconds(2), 1e-9);
  EXPECT_NEAR(seconds(0.25), slowdown(0.25) * seconds(2), 1e-9);
  EXPECT_EQ(slowdown(2), 1);
  EXPECT_GT(slowdown(1), 1);
  EXPECT_GT(slowdown(0.5), 2 * slowdown(1));
  EXPECT_DOUBLE_EQ(slowdown(0.25), 2 * slowdown(0.5));
}

TEST(CostModel, ThreadThatMovesBytesNeedsACoreToo) {
  const auto seconds = [](double cores) {
    return exchange_seconds(exchange_of(Topology::gather, 2),
                            {.bytes_per_second = 1e30, .byte_seconds = 1e-9, .cores = cores});
  };
  // 1 ns to encode and twice 2 ns to add an element, 0.5 ns to put it into its place, 4 ns to move
  // its bytes.
  EXPECT_GE(seconds(1), slowdown(1) * 9.5e-3);
  EXPECT_LT(seconds(2), 9.5e-3);
}

TEST(CostModel, ManyRanksAreNoTrouble) {
  for (const Topology topology : kAll) {
    const double seconds = exchange_seconds(
        exchange_of(topology, 10'000),
        {.bytes_per_second = 1e9, .latency_seconds = 1e-4, .message_seconds = 1e-5});
    EXPECT_GT(seconds, 1e-3);
    EXPECT_LT(seconds, 1e4);
  }
}

TEST(CostModel, PayloadsGetNearlyAllOfALink) {
  EXPECT_NEAR(payload_rate(1e9), 125e6, 0.06 * 125e6);
  EXPECT_LT(payload_rate(1e9), 125e6);
}

TEST(StepSeconds, NothingHidesWithOneGroup) { EXPECT_DOUBLE_EQ(step_seconds(3, 2, 1), 5); }

TEST(StepSeconds, AllButTheLastGroupHideBehindTheBackwardPass) {
  // 4 groups of 0.1 s: three of them fit into three quarters of the 2 s of the backward pass.
  EXPECT_DOUBLE_EQ(step_seconds(3, 0.1, 4), 3.1);
  // 4 groups of 1 s: of 3 s, 1.5 s are hidden.
  EXPECT_DOUBLE_EQ(step_seconds(3, 1, 4), 3 + 1 + 1.5);
}

TEST(StepSeconds, WithoutComputingItIsTheExchange) {
  EXPECT_DOUBLE_EQ(step_seconds(0, 1, 4), 4);
  EXPECT_DOUBLE_EQ(step_seconds(2, 0, 4), 2);
}

}  // namespace
}  // namespace gradwire::plan
