#include "advise/at_once.h"

#include <atomic>
#include <stdexcept>

#include "gtest/gtest.h"

namespace gradwire::advise {
namespace {

struct Figure {
  double seconds = 0;
  double total() const { return seconds; }
};

std::vector<std::vector<Figure>> rounds_of(const std::vector<double>& seconds) {
  std::vector<std::vector<Figure>> rounds;
  for (const double each : seconds) rounds.push_back({Figure{each}, Figure{each / 2}});
  return rounds;
}

TEST(AtOnce, NoiseIsTheErrorOfTheMedianAsAShareOfIt) {
  EXPECT_EQ(noise_of(rounds_of({5, 5, 5})), 0);
  EXPECT_EQ(noise_of(rounds_of({5, 7})), 0) << "two rounds say nothing";
  EXPECT_NEAR(noise_of(rounds_of({9, 10, 11, 10, 9, 11, 10, 9, 11})), 1.858 * 0.1 / 3, 1e-3);
}

TEST(AtOnceThreads, SteadyTimesTakeTheRoundsThatWereAskedFor) {
  const auto steady = run_at_once(2, 5, 40, [] { return [] { return Figure{1}; }; });
  EXPECT_EQ(steady.size(), 5u);
  EXPECT_EQ(steady.front().size(), 2u);
}

TEST(AtOnceThreads, VaryingTimesTakeMoreRoundsAndThenEnd) {
  const auto varying = run_at_once(
      2, 5, 40, [] { return [round = 0]() mutable { return Figure{1.0 + 4 * (round++ % 3)}; }; });
  EXPECT_EQ(varying.size(), 40u);
}

TEST(AtOnceThreads, FailureOfAThreadEndsAll) {
  std::atomic<int> threads = 0;
  const auto make = [&] {
    return [fails = ++threads == 2, round = 0]() mutable -> Figure {
      if (fails && ++round == 3) throw std::runtime_error("third round");
      return {1};
    };
  };
  EXPECT_THROW(run_at_once(3, 100, 100, make), std::runtime_error);
}

}  // namespace
}  // namespace gradwire::advise
