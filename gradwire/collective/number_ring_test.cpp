#include "gradwire/collective/number_ring.h"

#include <vector>

#include "gradwire/collective/test_support.h"
#include "gradwire/core/error.h"
#include "gradwire/wire/frame.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

// Number i of a rank.
std::uint32_t number_of(std::size_t rank, std::size_t i, std::uint8_t width) {
  return static_cast<std::uint32_t>((i * 2654435761U) >> (7 + rank)) & ((1U << width) - 1);
}

TEST(NumberRingThreads, SumsAreExactWhateverTheWidths) {
  const std::vector<std::vector<std::uint8_t>> patterns = {{2}, {8}, {4, 3, 2, 0, 1}, {0}};
  for (const std::size_t ranks : {1, 2, 3, 5}) {
    run_communicators(ranks, [&](Communicator& communicator) {
      NumberRing ring(communicator, "test", 1000);
      std::uint64_t step = 0;
      for (const auto& widths : patterns) {
        for (const std::size_t count : {0, 1, 4, 17, 1000}) {
          std::vector<std::uint32_t> numbers(count);
          std::vector<std::uint32_t> wanted(count);
          for (std::size_t i = 0; i < count; ++i) {
            const std::uint8_t width = widths[i % widths.size()];
            numbers[i] = number_of(communicator.rank(), i, width);
            for (std::size_t rank = 0; rank < ranks; ++rank) wanted[i] += number_of(rank, i, width);
          }
          std::vector<std::uint32_t> sums(count);
          const ExchangeReport report =
              ring.run({.step = step++, .widths = widths, .numbers = numbers, .sums = sums});
          EXPECT_EQ(sums, wanted);
          EXPECT_FALSE(report.poisoned);
        }
      }
    });
  }
}

TEST(NumberRingThreads, SendsWhatItSaysItWill) {
  run_communicators(4, [](Communicator& communicator) {
    NumberRing ring(communicator, "test", 1600);
    const std::vector<std::uint8_t> widths = {2};
    const std::vector<std::uint32_t> numbers(1600, 3);
    std::vector<std::uint32_t> sums(1600);
    const ExchangeReport report = ring.run({.widths = widths, .numbers = numbers, .sums = sums});
    EXPECT_EQ(report.traffic.bytes_sent, NumberRing::bytes_sent(1600, widths, 4));
    // 2, 3 and 4 bits on the way to the owner, 4 on all hops of the way back.
    EXPECT_EQ(report.traffic.bytes_sent, 6 * kFrameHeaderBytes + 400 * (2 + 3 + 4 + 3 * 4) / 8);
  });
}

TEST(NumberRingThreads, PoisonIsSeenByAll) {
  run_communicators(3, [](Communicator& communicator) {
    NumberRing ring(communicator, "test", 8);
    const std::vector<std::uint8_t> widths = {1};
    const std::vector<std::uint32_t> numbers(8, 1);
    std::vector<std::uint32_t> sums(8);
    for (std::uint64_t step = 0; step < 4; ++step) {
      const bool is_bad = communicator.rank() == step;
      const ExchangeReport report = ring.run(
          {.step = step, .widths = widths, .numbers = numbers, .sums = sums, .is_poison = is_bad});
      EXPECT_EQ(report.poisoned, step < 3);
    }
  });
}

TEST(NumberRingThreads, RanksThatDifferAreToldBeforeTheFirstFrame) {
  EXPECT_THROW(run_communicators(2,
                                 [](Communicator& communicator) {
                                   NumberRing ring(communicator, "test", 1 + communicator.rank());
                                 }),
               StartError);
}

}  // namespace
}  // namespace gradwire
