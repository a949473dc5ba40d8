// Small groups of members whose messages arrive at once, in order. tests/simulate has the rest.
#include "gradwire/membership/membership.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "gradwire/membership/test_support.h"

namespace gradwire::membership {
namespace {

const Options kOptions{.silence = Time(1000),
                       .alive_every = Time(200),
                       .retry = Time(100),
                       .reconnect_grace = Time(50),
                       .wait = Time(5000),
                       .members_least = 1,
                       .join_lag = 1};

class Group {
 public:
  explicit Group(std::size_t members) : view_(example_view(1, members)) {
    for (const Member& member : view_.members) {
      members_.try_emplace(member.id, kOptions, member, view_, 0, now_);
    }
    for (const Member& a : view_.members) {
      for (const Member& b : view_.members) {
        if (a.id != b.id) at(a.id).on_connected(b.id, now_);
      }
    }
    deliver();
  }

  MemberId id(std::size_t rank) const { return view_.members[rank].id; }
  Membership& at(const MemberId& id) { return members_.at(id); }
  Membership& at(std::size_t rank) { return at(id(rank)); }
  std::size_t count() const { return members_.size(); }

  // From now on nothing comes from it or goes to it.
  LastWord kill(std::size_t rank) {
    const LastWord word = at(rank).last_word();
    members_.erase(id(rank));
    return word;
  }
  void close(std::size_t at_rank, std::size_t peer) {
    at(at_rank).on_lost(id(peer), Evidence::closed, now_);
    deliver();
  }
  void pass(Time time) {
    for (const Time end = now_ + time; now_ < end;) {
      now_ += Time(50);
      for (auto& [id, member] : members_) member.on_tick(now_);
      deliver();
    }
  }
  void frame(std::size_t rank, std::uint64_t step, std::size_t of) {
    at(rank).on_frame(at(rank).view().number, step, of);
    deliver();
  }
  void join(const Member& newcomer) {
    Membership& member =
        members_.try_emplace(newcomer.id, kOptions, newcomer, std::vector<std::string>{"any"}, now_)
            .first->second;
    for (const Member& peer : view_.members) {
      member.on_connected(peer.id, now_);
      at(peer.id).on_connected(newcomer.id, now_);
    }
    deliver();
  }

  template <class A>
  std::vector<A> seen(const MemberId& id) const {
    std::vector<A> actions;
    const auto entry = seen_.find(id);
    if (entry == seen_.end()) return actions;
    for (const Action& action : entry->second) {
      if (const A* content = std::get_if<A>(&action)) actions.push_back(*content);
    }
    return actions;
  }

  void deliver() {
    bool any = true;
    while (any) {
      any = false;
      for (auto& [id, member] : members_) {
        for (Action& action : member.take_actions()) {
          any = true;
          perform(id, action);
        }
      }
    }
  }

  Time now() const { return now_; }

 private:
  void perform(const MemberId& id, const Action& action) {
    seen_[id].push_back(action);
    if (const auto* send = std::get_if<SendMessage>(&action)) {
      const auto to = members_.find(send->to);
      if (to != members_.end()) to->second.on_message(id, send->message, now_);
    } else if (const auto* commit = std::get_if<CommitStep>(&action)) {
      at(id).on_committed(commit->step, commit->step, now_);
    }
  }

  const View view_;
  Time now_{0};
  std::map<MemberId, Membership> members_;
  std::map<MemberId, std::vector<Action>> seen_;
};

TEST(Membership, FoundersBeginWithStepOne) {
  Group group(3);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const auto begun = group.seen<BeginStep>(group.id(rank));
    ASSERT_EQ(begun.size(), 1U);
    EXPECT_EQ(begun[0].step, 1U);
  }
}

TEST(Membership, ALossAbortsTheStepAndItIsExchangedAgain) {
  Group group(3);
  group.kill(0);
  group.close(1, 0);
  group.close(2, 0);
  for (std::size_t rank = 1; rank < 3; ++rank) {
    EXPECT_EQ(group.at(rank).view().members.size(), 2U);
    EXPECT_EQ(group.seen<AbortStep>(group.id(rank)).size(), 1U);
    const auto begun = group.seen<BeginStep>(group.id(rank));
    ASSERT_EQ(begun.size(), 2U);
    EXPECT_EQ(begun[1].step, 1U);
    EXPECT_EQ(begun[1].view, 2U);
  }
}

TEST(Membership, SurvivorsFetchAStepThatTheyCanCompleteTogether) {
  Group group(3);
  for (const std::size_t of : {0U, 1U}) group.frame(1, 1, of);
  for (const std::size_t of : {1U, 2U}) group.frame(2, 1, of);
  group.kill(0);
  group.close(1, 0);
  group.close(2, 0);
  const auto fetched = group.seen<FetchFrame>(group.id(2));
  ASSERT_EQ(fetched.size(), 1U);
  EXPECT_EQ(fetched[0].from, group.id(1));
  EXPECT_EQ(fetched[0].rank, 0U);
  group.at(2).on_frame(1, 1, 0);
  group.at(1).on_frame(1, 1, 2);
  group.deliver();
  EXPECT_EQ(group.at(1).committed(), 1U);
  EXPECT_EQ(group.at(2).committed(), 1U);
}

TEST(Membership, AClosedConnectionIsNoDeath) {
  Group group(2);
  group.kill(0);
  group.close(1, 0);
  EXPECT_EQ(group.seen<Wait>(group.id(1)).size(), 1U);
  EXPECT_EQ(group.at(1).view().number, 1U);
  group.pass(Time(6000));
  const auto ended = group.seen<End>(group.id(1));
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].reason, EndReason::no_quorum);
}

TEST(Membership, ALastWordLetsTheOthersGoOn) {
  Group group(2);
  const LastWord word = group.kill(0);
  group.at(1).on_lost(group.id(0), Evidence::ended, group.now(), &word);
  group.deliver();
  EXPECT_EQ(group.at(1).view().number, 2U);
  EXPECT_EQ(group.at(1).view().members.size(), 1U);
}

// The rule "half of those not known to be dead" would let rank 0 go on here, beside rank 1.
TEST(Membership, WhoeverDiedMayHaveEndedTheViewWithOthers) {
  Group group(3);
  const auto cut = [&](std::size_t a, std::size_t b) { group.close(a, b); };
  Membership alone = group.at(0);
  group.kill(0);
  cut(1, 0);
  cut(2, 0);
  EXPECT_EQ(group.at(1).view().number, 2U);
  group.kill(2);
  cut(1, 2);
  alone.on_lost(group.id(1), Evidence::closed, group.now());
  alone.on_lost(group.id(2), Evidence::closed, group.now());
  EXPECT_EQ(alone.view().number, 1U);
  EXPECT_TRUE(alone.is_changing());
}

TEST(Membership, ANewcomerIsAdmittedAtAStepsEnd) {
  Group group(2);
  const Member newcomer = example_member(9);
  group.join(newcomer);
  EXPECT_FALSE(group.at(newcomer.id).may_donate());
  group.at(newcomer.id).on_caught_up(0, group.now());
  group.deliver();
  EXPECT_EQ(group.at(0).view().number, 1U);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    for (std::size_t of = 0; of < 2; ++of) group.frame(rank, 1, of);
  }
  EXPECT_EQ(group.at(0).view().number, 2U);
  EXPECT_EQ(group.at(newcomer.id).rank(), 2U);
  const auto catch_up = group.seen<CatchUp>(newcomer.id);
  ASSERT_EQ(catch_up.size(), 1U);
  EXPECT_EQ(catch_up[0].step, 1U);
  EXPECT_FALSE(group.at(newcomer.id).may_donate());
}

TEST(Membership, ALeaverEndsAtAStepsEnd) {
  Group group(3);
  group.at(0).on_leave(group.now());
  group.deliver();
  EXPECT_FALSE(group.at(0).is_over());
  for (std::size_t rank = 0; rank < 3; ++rank) {
    for (std::size_t of = 0; of < 3; ++of) group.frame(rank, 1, of);
  }
  const auto ended = group.seen<End>(group.id(0));
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].reason, EndReason::left);
  EXPECT_EQ(group.at(1).view().members.size(), 2U);
  EXPECT_EQ(group.at(1).committed(), 1U);
}

TEST(Membership, SilenceBeyondTheDeadlineIsALoss) {
  Group group(3);
  group.kill(2);
  group.pass(Time(900));
  EXPECT_EQ(group.at(0).view().number, 1U);
  group.pass(Time(500));
  EXPECT_EQ(group.at(0).view().members.size(), 2U);
}

}  // namespace
}  // namespace gradwire::membership
