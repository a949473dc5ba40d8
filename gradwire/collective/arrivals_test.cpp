#include "gradwire/collective/arrivals.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace gradwire {
namespace {

using std::chrono::milliseconds;
using Time = Arrivals::Time;

Time at(int ms) { return Time() + milliseconds(ms); }

void take_step(Arrivals& arrivals, std::initializer_list<int> deliveries) {
  for (const int ms : deliveries) arrivals.deliver(at(ms));
  arrivals.close();
}

// Four ranks of which three are enough; they have come with this spread so far.
Arrivals used_to(int spread_ms) {
  Arrivals arrivals(4, 0.75);
  for (std::size_t step = 0; step < Arrivals::kStepsMin; ++step) {
    take_step(arrivals, {0, spread_ms, 2 * spread_ms, 9 * spread_ms});
  }
  return arrivals;
}

TEST(Arrivals, NeedTheShareOfTheRanksRoundedUp) {
  EXPECT_EQ(Arrivals(4, 0.75).needed(), 3u);
  EXPECT_EQ(Arrivals(4, 0.5).needed(), 2u);
  EXPECT_EQ(Arrivals(4, 0.51).needed(), 3u);
  EXPECT_EQ(Arrivals(3, 0.01).needed(), 1u);
  EXPECT_EQ(Arrivals(10, 0.7).needed(), 7u);  // 0.7 * 10 is above 7 in floats
  EXPECT_EQ(Arrivals(5, 1).needed(), 5u);
}

TEST(Arrivals, CloseThreeUsualSpreadsAfterTheShareHasCome) {
  Arrivals arrivals = used_to(10);
  EXPECT_EQ(arrivals.usual_spread(), milliseconds(10));
  arrivals.deliver(at(100));
  arrivals.deliver(at(101));
  EXPECT_EQ(arrivals.closes_at(), std::nullopt);
  arrivals.deliver(at(103));
  EXPECT_EQ(arrivals.closes_at(), at(133));
  arrivals.deliver(at(104));  // more of them change nothing
  EXPECT_EQ(arrivals.closes_at(), at(133));
}

TEST(Arrivals, WaitForAllUntilTheUsualSpreadIsKnown) {
  Arrivals arrivals(4, 0.75);
  for (std::size_t step = 0; step < Arrivals::kStepsMin; ++step) {
    arrivals.deliver(at(0));
    arrivals.deliver(at(1));
    arrivals.deliver(at(2));
    EXPECT_EQ(arrivals.closes_at(), std::nullopt) << step;
    arrivals.close();
  }
  take_step(arrivals, {0, 1, 2});
  EXPECT_EQ(arrivals.usual_spread(), milliseconds(1));
}

TEST(Arrivals, LateAndEarlyRanksDoNotCountAsUsual) {
  Arrivals arrivals = used_to(10);
  for (int step = 0; step < 100; ++step) take_step(arrivals, {0, 10, 20, 100'000});
  EXPECT_EQ(arrivals.usual_spread(), milliseconds(10));
  for (int step = 0; step < 100; ++step) take_step(arrivals, {-5000, 10, 20, 30});
  EXPECT_EQ(arrivals.usual_spread(), milliseconds(10));
}

TEST(Arrivals, FollowANewSpreadAndForgiveSingleOnes) {
  Arrivals arrivals = used_to(10);
  take_step(arrivals, {0, 1, 5000});
  EXPECT_EQ(arrivals.usual_spread(), milliseconds(10));
  for (std::size_t step = 0; step < Arrivals::kStepsKept; ++step) take_step(arrivals, {0, 1, 41});
  EXPECT_EQ(arrivals.usual_spread(), milliseconds(40));
}

TEST(Arrivals, OneRankThatIsEnoughIsNotWaitedBehind) {
  Arrivals arrivals(4, 0.25);
  for (std::size_t step = 0; step < Arrivals::kStepsMin; ++step) take_step(arrivals, {0, 9, 9, 9});
  arrivals.deliver(at(50));
  EXPECT_EQ(arrivals.closes_at(), at(50));
}

}  // namespace
}  // namespace gradwire
