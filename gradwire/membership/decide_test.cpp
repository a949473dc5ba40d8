#include "gradwire/membership/decide.h"

#include <gtest/gtest.h>

#include "gradwire/membership/test_support.h"

namespace gradwire::membership {
namespace {

class Decide : public testing::Test {
 protected:
  Decide() {
    for (std::size_t rank = 0; rank < 3; ++rank) {
      reports_.emplace_back(
          Report{.view = 1, .committed = 10, .hash = 5, .world = 1, .world_size = 3});
    }
  }

  Decision decide_now(RankSet leavers = {}) {
    return *decide({view_, reports_, reasons_, newcomers_, leavers});
  }

  const View view_ = example_view(1, 3);
  std::vector<std::optional<Report>> reports_;
  std::vector<Departure> reasons_ = std::vector<Departure>(3, Departure::closed);
  std::vector<Member> newcomers_;
};

TEST_F(Decide, AbortsAStepWhoseFramesAreNotAllThere) {
  reports_[2].reset();
  reports_[0]->held.add(0);
  reports_[1]->held.add(1);
  const Decision decision = decide_now();
  EXPECT_EQ(decision.step, 10U);
  EXPECT_TRUE(decision.sources.empty());
  EXPECT_EQ(decision.next.members.size(), 2U);
  EXPECT_EQ(decision.departed, (std::vector<Departed>{{view_.members[2].id, Departure::closed}}));
}

TEST_F(Decide, CommitsAStepThatSurvivorsCanCompleteTogether) {
  reports_[2].reset();
  reports_[0]->held = RankSet::first(2);
  reports_[1]->held.add(2);
  const Decision decision = decide_now();
  EXPECT_EQ(decision.step, 11U);
  EXPECT_EQ(decision.world, 1U);
  EXPECT_EQ(decision.sources, (std::vector<std::uint16_t>{0, 0, 1}));
}

TEST_F(Decide, CommitsAStepThatOneHasCommitted) {
  reports_[1]->committed = 11;
  const Decision decision = decide_now();
  EXPECT_EQ(decision.step, 11U);
  EXPECT_EQ(decision.sources, (std::vector<std::uint16_t>{1, 1, 1}));
}

TEST_F(Decide, AdmitsAndReleasesOnlyBetweenSteps) {
  newcomers_ = {example_member(7)};
  RankSet leavers;
  leavers.add(0);
  Decision decision = decide_now(leavers);
  EXPECT_EQ(decision.next.members,
            (std::vector<Member>{view_.members[1], view_.members[2], newcomers_[0]}));
  reports_[1]->committed = 11;
  decision = decide_now(leavers);
  EXPECT_EQ(decision.next.members, view_.members);
}

TEST_F(Decide, OfTwoThatCannotReachEachOtherTheLaterGoes) {
  reports_[1]->unreachable.add(2);
  const Decision decision = decide_now();
  EXPECT_EQ(decision.next.members, (std::vector<Member>{view_.members[0], view_.members[1]}));
  EXPECT_EQ(decision.departed[0].why, Departure::unreachable);
}

TEST_F(Decide, TheModelOfMostMembersIsRight) {
  reports_[0]->hash = 6;
  const Decision decision = decide_now();
  EXPECT_EQ(decision.next.members, (std::vector<Member>{view_.members[1], view_.members[2]}));
  EXPECT_EQ(decision.departed[0].why, Departure::diverged);
}

TEST_F(Decide, NeedsAMemberWithAModel) {
  for (auto& report : reports_) report->is_fresh = true;
  EXPECT_FALSE(decide({view_, reports_, reasons_, newcomers_, {}}).has_value());
}

TEST_F(Decide, TheLastMemberWithAModelStaysForNewcomers) {
  reports_[1].reset();
  reports_[2].reset();
  newcomers_ = {example_member(7)};
  EXPECT_EQ(decide_now(RankSet::first(1)).next.members.size(), 2U);
  newcomers_.clear();
  EXPECT_TRUE(decide_now(RankSet::first(1)).next.members.empty());
}

}  // namespace
}  // namespace gradwire::membership
