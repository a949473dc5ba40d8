#include "gradwire/method/adam/phases.h"

#include <gtest/gtest.h>

#include <vector>

#include "gradwire/core/error.h"

namespace gradwire {
namespace {

// Takes steps at one rate; the norm is the same in all of them. Returns the phase of each.
std::vector<AdamPhase> walk(AdamPhases& phases, std::size_t steps, double norm = 1) {
  std::vector<AdamPhase> walked;
  for (std::size_t i = 0; i < steps; ++i) {
    walked.push_back(phases.next(0.1));
    phases.commit(walked.back(), 0.1, norm);
  }
  return walked;
}

std::vector<std::size_t> places_of(AdamPhase phase, const std::vector<AdamPhase>& walked) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < walked.size(); ++i) {
    if (walked[i] == phase) places.push_back(i);
  }
  return places;
}

// Steps until the warm-up is over, if the norm of step i is norms(i) and its rate is rates(i).
template <class Norms, class Rates>
std::size_t warm_steps(std::uint64_t window, const Norms& norms, const Rates& rates) {
  AdamPhases phases({.window = window});
  for (std::size_t i = 0; i < 10'000; ++i) {
    if (phases.next(rates(i)) != AdamPhase::warmup) return i;
    phases.commit(AdamPhase::warmup, rates(i), norms(i));
  }
  return 10'000;
}

double constant(std::size_t) { return 1; }

TEST(AdamPhases, TheWarmUpTakesTheGivenSteps) {
  AdamPhases phases({.warmup = 5, .refresh = 0});
  const auto walked = walk(phases, 9);
  EXPECT_EQ(places_of(AdamPhase::warmup, walked), (std::vector<std::size_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(places_of(AdamPhase::compressed, walked), (std::vector<std::size_t>{5, 6, 7, 8}));
  EXPECT_EQ(phases.steps(), 9u);
  EXPECT_EQ(phases.updates(), 5u);
}

TEST(AdamPhases, RefreshesGrowApartUntilTheyAreAtEqualDistances) {
  AdamPhases phases({.warmup = 10, .refresh = 8});
  // The 1st, 2nd, 4th, 8th, 16th, 24th, ... step after 10 of warm-up.
  EXPECT_EQ(places_of(AdamPhase::refresh, walk(phases, 50)),
            (std::vector<std::size_t>{10, 11, 13, 17, 25, 33, 41, 49}));
}

TEST(AdamPhases, TheWarmUpEndsWhenTheNormOfTheSquaresHasSettled) {
  EXPECT_EQ(warm_steps(16, constant, constant), 17u);  // needs a norm that is a window old
  EXPECT_EQ(warm_steps(1, constant, constant), 2u);
  const std::size_t at_3_percent = warm_steps(
      16, [](std::size_t i) { return 1 + 0.03 * double(i) / 16; }, constant);
  EXPECT_EQ(at_3_percent, 17u);
  // It falls by 10% in a window until step 200.
  const std::size_t falling = warm_steps(
      16, [](std::size_t i) { return 10 - 1.0 * double(std::min<std::size_t>(i, 200)) / 16 * 0.5; },
      constant);
  EXPECT_GT(falling, 200u);
  EXPECT_LT(falling, 217u);
}

TEST(AdamPhases, TheWarmUpIsNotOverWhileTheLearningRateRises) {
  const auto rising = [](std::size_t i) { return double(std::min<std::size_t>(i, 300)); };
  EXPECT_EQ(warm_steps(16, constant, rising), 301u);
}

TEST(AdamPhases, ALongWindowIsComparedAtAFewPlaces) {
  const std::size_t steps = warm_steps(1000, constant, constant);
  EXPECT_GE(steps, 1000u);
  EXPECT_LE(steps, 1100u);
  AdamPhases phases({.window = 1000});
  walk(phases, 900);
  MethodState state;
  phases.save(state);
  EXPECT_LT(state.numbers.size(), 25u);
}

TEST(AdamPhases, SavedAndLoadedTheyGoOnAsTheyWere) {
  for (const std::size_t cut : {3u, 20u, 27u, 40u}) {
    AdamPhases whole({.refresh = 8, .window = 20}), first({.refresh = 8, .window = 20});
    auto walked = walk(whole, cut);
    walk(first, cut);
    MethodState state;
    first.save(state);
    AdamPhases second({.refresh = 8, .window = 20});
    walk(second, 2);
    second.load(state);
    EXPECT_EQ(walk(whole, 60), walk(second, 60)) << cut;
  }
}

TEST(AdamPhases, AStateWithoutSenseIsRefused) {
  AdamPhases phases({});
  EXPECT_THROW(phases.load({}), Error);
  MethodState state;
  phases.save(state);
  state.numbers["adam steps"] = 1.5;
  EXPECT_THROW(phases.load(state), Error);
}

}  // namespace
}  // namespace gradwire
