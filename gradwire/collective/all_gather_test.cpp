#include "gradwire/collective/all_gather.h"

#include <atomic>

#include "gradwire/collective/test_support.h"
#include "gradwire/core/error.h"
#include "gradwire/wire/frame.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

std::vector<std::byte> text_of(std::size_t rank, std::uint64_t step) {
  std::vector<std::byte> text(10 * rank + static_cast<std::size_t>(step));
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<std::byte>(i * 7 + rank);
  return text;
}

bool equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::ranges::equal(a, b);
}

TEST(AllGatherThreads, AllReadWhatAllWrote) {
  for (const std::size_t ranks : {1, 2, 5}) {
    run_communicators(ranks, [&](Communicator& communicator) {
      AllGather all_gather(communicator, {.name = "test", .bytes_max = 100});
      for (std::uint64_t step = 0; step < 20; ++step) {
        const auto own = text_of(communicator.rank(), step);
        const ExchangeReport report = all_gather.run({.step = step, .own = own});
        for (std::size_t rank = 0; rank < ranks; ++rank) {
          EXPECT_TRUE(equal(all_gather.from(rank), text_of(rank, step)));
        }
        EXPECT_FALSE(report.poisoned);
        EXPECT_EQ(report.traffic.message_bytes, kFrameHeaderBytes + own.size());
        EXPECT_EQ(report.traffic.bytes_sent, (ranks - 1) * (kFrameHeaderBytes + own.size()));
      }
    });
  }
}

TEST(AllGatherThreads, OneAuthorSendsAndNobodyElse) {
  run_communicators(3, [](Communicator& communicator) {
    AllGather all_gather(communicator, {.name = "test", .bytes_max = 100});
    for (std::uint64_t step = 0; step < 9; ++step) {
      const std::size_t author = step % 3;
      const bool is_author = author == communicator.rank();
      const auto own = text_of(author, step);
      const ExchangeReport report = all_gather.run({.step = step, .author = author, .own = own});
      for (std::size_t rank = 0; rank < 3; ++rank) {
        EXPECT_EQ(all_gather.from(rank).empty(), rank != author || own.empty());
      }
      EXPECT_TRUE(equal(all_gather.from(author), own));
      EXPECT_EQ(report.traffic.bytes_sent > 0, is_author);
      EXPECT_EQ(report.traffic.bytes_received > 0, !is_author);
    }
  });
}

TEST(AllGatherThreads, AHubPassesEverythingOn) {
  for (const std::size_t hub : {0, 1, 3}) {
    run_communicators(4, [&](Communicator& communicator) {
      AllGather all_gather(communicator, {.name = "test", .bytes_max = 100, .hub = hub});
      for (std::uint64_t step = 0; step < 20; ++step) {
        const auto own = text_of(communicator.rank(), step);
        const bool is_one = step % 3 == 0;
        const std::size_t author = step % 4;
        const auto written = is_one ? std::optional(author) : std::nullopt;
        const ExchangeReport report = all_gather.run({.step = step, .author = written, .own = own});
        for (std::size_t rank = 0; rank < 4; ++rank) {
          const bool is_written = !is_one || rank == author;
          EXPECT_TRUE(equal(all_gather.from(rank),
                            is_written ? text_of(rank, step) : std::vector<std::byte>()));
        }
        // Whoever is not the hub tells nobody but the hub.
        const bool writes = !is_one || communicator.rank() == author;
        if (communicator.rank() == hub) continue;
        EXPECT_EQ(report.traffic.bytes_sent, writes ? kFrameHeaderBytes + own.size() : 0);
      }
    });
  }
}

TEST(AllGatherThreads, PoisonIsSeenByAll) {
  run_communicators(3, [](Communicator& communicator) {
    AllGather all_gather(communicator, {.name = "test", .bytes_max = 8});
    const bool is_bad = communicator.rank() == 1;
    EXPECT_TRUE(all_gather.run({.step = 0, .is_poison = is_bad}).poisoned);
    EXPECT_FALSE(all_gather.run({.step = 1}).poisoned);
  });
}

TEST(AllGatherThreads, WhatMakesNoSenseEndsAllRanksWithOneCause) {
  std::atomic<int> ended = 0;
  InProcessWorld world(3);
  run_ranks(3, [&](std::size_t rank) {
    Communicator communicator(world.join(rank), {.run = 7});
    AllGather all_gather(communicator, {.name = "test", .bytes_max = 8});
    all_gather.run({.step = 0});
    try {
      if (rank == 0) all_gather.refuse(2, "no");
      for (std::uint64_t step = 1; step < 1000; ++step) all_gather.run({.step = step});
    } catch (const PeerError& error) {
      EXPECT_EQ(error.rank(), 2U) << error.what();
      ++ended;
    }
  });
  EXPECT_EQ(ended, 3);
}

TEST(AllGatherThreads, RanksThatDifferAreToldBeforeTheFirstFrame) {
  EXPECT_THROW(run_communicators(2,
                                 [](Communicator& communicator) {
                                   AllGather all_gather(
                                       communicator,
                                       {.name = "test", .bytes_max = 100 + communicator.rank()});
                                 }),
               StartError);
}

}  // namespace
}  // namespace gradwire
