#include "gradwire/method/lgc/phases.h"

#include <cmath>
#include <vector>

#include "gradwire/core/error.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

constexpr LgcPhaseOptions kShort = {
    .full_steps = 2, .sparse_steps = 3, .error_max = 0.4, .refresh_every = 4};

// Steps with one error; what was said.
std::string run(LgcPhases& phases, std::size_t steps, double error) {
  std::string said;
  for (std::size_t i = 0; i < steps; ++i) said += phases.end_step(error);
  return said;
}

TEST(LgcPhases, TheCodeIsUsedWhenItsErrorIsLowEnough) {
  LgcPhases phases(kShort);
  EXPECT_EQ(phases.phase(), LgcPhase::full);
  run(phases, 2, 0.1);
  EXPECT_EQ(phases.phase(), LgcPhase::sparse);
  EXPECT_EQ(run(phases, 2, 0.3), "");
  EXPECT_EQ(phases.phase(), LgcPhase::sparse);
  EXPECT_NE(run(phases, 1, 0.3), "");
  EXPECT_EQ(phases.phase(), LgcPhase::coded);
}

TEST(LgcPhases, NotByCountAlone) {
  LgcPhases phases(kShort);
  run(phases, 2, 0);
  EXPECT_NE(run(phases, 30, 0.8).find("not below 0.4"), std::string::npos);
  EXPECT_EQ(phases.phase(), LgcPhase::sparse);
  EXPECT_EQ(run(phases, 100, 0.8), "");  // said once
  run(phases, 30, 0.1);
  EXPECT_EQ(phases.phase(), LgcPhase::coded);
}

TEST(LgcPhases, BackToExactValuesWhenTheErrorLeavesTheBound) {
  LgcPhases phases(kShort);
  run(phases, 5, 0.3);
  ASSERT_EQ(phases.phase(), LgcPhase::coded);
  EXPECT_EQ(run(phases, 20, 0.45), "");  // it may be a little larger than to begin with
  EXPECT_EQ(phases.phase(), LgcPhase::coded);
  EXPECT_NE(run(phases, 10, 0.9).find("back to exact values"), std::string::npos);
  EXPECT_EQ(phases.phase(), LgcPhase::sparse);
}

TEST(LgcPhases, WhatIsNoNumberIsALargeError) {
  LgcPhases phases(kShort);
  run(phases, 2, 0);
  run(phases, 20, std::nan(""));
  EXPECT_EQ(phases.phase(), LgcPhase::sparse);
}

TEST(LgcPhases, SomeCodedStepsAreForLearning) {
  LgcPhases phases(kShort);
  run(phases, 5, 0.3);
  for (int turn = 0; turn < 20; ++turn) {
    int refreshes = 0;
    for (std::size_t i = 0; i < kShort.refresh_every; ++i) {
      refreshes += phases.is_refresh() ? 1 : 0;
      run(phases, 1, 0.3);
    }
    EXPECT_EQ(refreshes, turn == 0 ? 0 : 1);
  }
}

TEST(LgcPhases, EveryRankIsTheLeaderOfStepsForLearning) {
  for (const std::size_t ranks : {2, 3, 4, 5, 8}) {
    for (const std::size_t every : {1, 4, 99, 100}) {
      LgcPhases phases(
          {.full_steps = 0, .sparse_steps = 0, .error_max = 1, .refresh_every = every});
      std::vector<std::size_t> turns(ranks);
      for (std::uint64_t step = 0; step < 50 * every; ++step) {
        turns[step % ranks] += phases.is_refresh() ? 1 : 0;
        run(phases, 1, 0.3);
      }
      for (const std::size_t count : turns) EXPECT_GT(count, 0U) << ranks << ' ' << every;
    }
  }
}

TEST(LgcPhases, ACodeThatHasToBeginAnewIsSaid) {
  LgcPhases phases(kShort);
  run(phases, 5, 0.3);
  phases.restart();
  EXPECT_EQ(phases.phase(), LgcPhase::sparse);
  EXPECT_NE(phases.end_step(0.3).find("anew"), std::string::npos);
  EXPECT_EQ(phases.end_step(0.3), "");
}

TEST(LgcPhases, GoOnFromASavedState) {
  for (std::size_t saved_at = 0; saved_at < 12; ++saved_at) {
    LgcPhases straight(kShort);
    run(straight, saved_at, 0.3);
    MethodState state;
    straight.save(state);
    LgcPhases loaded(kShort);
    loaded.load(state);
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(loaded.phase(), straight.phase());
      EXPECT_EQ(loaded.is_refresh(), straight.is_refresh());
      const double error = i < 8 ? 0.2 : 0.9;
      EXPECT_EQ(loaded.end_step(error), straight.end_step(error));
    }
  }
  LgcPhases phases(kShort);
  EXPECT_THROW(phases.load({}), Error);
}

}  // namespace
}  // namespace gradwire
