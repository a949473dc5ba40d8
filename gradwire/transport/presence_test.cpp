// Who is missed, who is blamed, and that everybody says the same. Where one thread can play all
// ranks it does: then no load on the machine can make one of them late.
#include "gradwire/transport/presence.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>

#include "gradwire/transport/test_support.h"

namespace gradwire {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Ending {
  std::string what;
  std::size_t rank = 99;
};

template <class Call>
Ending ending_of(Call call) {
  try {
    call();
  } catch (const PeerError& error) {
    return {error.what(), error.rank()};
  }
  return {};
}

void tick_for_ever(Presence& presence) {
  for (;;) {
    presence.tick();
    std::this_thread::sleep_for(presence.tick_interval());
  }
}

void tick_all_for(std::chrono::milliseconds time, std::initializer_list<Presence*> presences) {
  const Clock::time_point until = Clock::now() + time;
  while (Clock::now() < until) {
    for (Presence* presence : presences) presence->tick();
    std::this_thread::sleep_for(1ms);
  }
}

TEST(Presence, SilentPeerIsNamedAfterTheDeadline) {
  const auto transports = in_process_transports(2);
  const Clock::time_point start = Clock::now();
  Presence here(*transports[0], 200ms);
  Presence silent(*transports[1], 200ms);
  here.set_step(5);
  const Ending ending = ending_of([&] { tick_for_ever(here); });
  EXPECT_GE(Clock::now() - start, 200ms);
  EXPECT_EQ(ending.rank, 1u);
  EXPECT_TRUE(has(ending.what, "lost rank 1 (thread 1) at step 6: it fell silent")) << ending.what;
  EXPECT_FALSE(has(ending.what, "found by")) << ending.what;
  EXPECT_FALSE(has(ending.what, "cut off")) << ending.what;
  EXPECT_TRUE(here.is_over());
}

TEST(Presence, SilenceIsFoundWhileWaitingForAMessage) {
  const auto transports = in_process_transports(2);
  Presence here(*transports[0], 200ms);
  Presence silent(*transports[1], 200ms);
  std::array<std::byte, 8> memory{};
  const auto receiver = transports[0]->receiver(1, {.lane = Lane::up}, memory);
  receiver->start();
  const Ending ending = ending_of([&] { here.await(*receiver); });
  EXPECT_EQ(ending.rank, 1u);
  EXPECT_TRUE(has(ending.what, "it fell silent")) << ending.what;
}

// It lives, but it will never send what the other one waits for.
TEST(PresenceThreads, WhoHasLeftIsFoundWhileOthersWaitForIt) {
  const auto transports = in_process_transports(2);
  Presence here(*transports[0], 200ms);
  Presence early(*transports[1], 200ms);
  Ending of_early;
  std::thread leaver([&] { of_early = ending_of([&] { early.leave(); }); });
  std::array<std::byte, 8> memory{};
  const auto receiver = transports[0]->receiver(1, {.lane = Lane::up}, memory);
  receiver->start();
  const Ending ending = ending_of([&] { here.await(*receiver); });
  leaver.join();
  EXPECT_EQ(ending.rank, 1u);
  EXPECT_TRUE(has(ending.what, "it has left")) << ending.what;
  EXPECT_EQ(of_early.rank, 1u);
  EXPECT_TRUE(has(of_early.what, "it has left")) << of_early.what;
}

TEST(Presence, RanksThatKeepTickingAccuseNobody) {
  const auto transports = in_process_transports(2);
  Presence a(*transports[0], 200ms), b(*transports[1], 200ms);
  EXPECT_NO_THROW(tick_all_for(700ms, {&a, &b}));
}

// Messages of other lanes are signs of life, too.
TEST(Presence, PeerThatIsHeardOfIsNotSilent) {
  const auto transports = in_process_transports(2);
  Presence here(*transports[0], 200ms);
  Presence silent(*transports[1], 200ms);
  const Clock::time_point until = Clock::now() + 500ms;
  EXPECT_NO_THROW({
    while (Clock::now() < until) {
      here.tick();
      here.heard(1);
      std::this_thread::sleep_for(1ms);
    }
  });
}

TEST(Presence, RankThatWasItselfAwayAccusesNobody) {
  const auto transports = in_process_transports(2);
  Presence a(*transports[0], 200ms), b(*transports[1], 200ms);
  tick_all_for(50ms, {&a, &b});
  std::this_thread::sleep_for(400ms);
  EXPECT_NO_THROW(a.tick());  // it has heard nothing for longer than the deadline
  EXPECT_NO_THROW(tick_all_for(300ms, {&a, &b}));
}

TEST(Presence, RankThatWasAwayStillFindsWhoStaysSilent) {
  const auto transports = in_process_transports(2);
  Presence a(*transports[0], 200ms), b(*transports[1], 200ms);
  tick_all_for(50ms, {&a, &b});
  std::this_thread::sleep_for(400ms);
  EXPECT_EQ(ending_of([&] { tick_for_ever(a); }).rank, 1u);
}

TEST(Presence, OneThatIsSilentForLongestIsNamed) {
  const auto transports = in_process_transports(3);
  Presence a(*transports[0], 1s), b(*transports[1], 1s), c(*transports[2], 1s);
  tick_all_for(200ms, {&a, &b, &c});
  tick_all_for(300ms, {&a, &b});
  const Ending ending = ending_of([&] { tick_for_ever(a); });
  EXPECT_EQ(ending.rank, 2u) << ending.what;
}

TEST(Presence, WhoHearsNobodyMayBeCutOffItself) {
  const auto transports = in_process_transports(3);
  Presence a(*transports[0], 200ms), b(*transports[1], 200ms), c(*transports[2], 200ms);
  const Ending ending = ending_of([&] { tick_for_ever(a); });
  EXPECT_TRUE(has(ending.what, "this rank itself may be cut off")) << ending.what;
}

TEST(Presence, PeerThatEndedForAnothersSakeIsNotTheCause) {
  const auto transports = in_process_transports(3);
  Presence a(*transports[0], 10s), b(*transports[1], 10s), c(*transports[2], 10s);
  b.set_step(12);
  EXPECT_THROW(b.fail(2, "its frame was damaged"), PeerError);
  // What rank 0 meets first is that its connection to rank 1 is broken.
  const Ending ending = ending_of([&] { a.lose(PeerError("rank 1 (thread 1) has left", 1)); });
  EXPECT_EQ(ending.rank, 2u);
  EXPECT_EQ(ending.what,
            "lost rank 2 (thread 2) at step 13: its frame was damaged; found by rank 1 (thread 1)");
}

TEST(Presence, PeerThatIsGoneWithoutAWordIsTheCause) {
  auto transports = in_process_transports(3);
  Presence a(*transports[0], 300ms), b(*transports[1], 300ms);
  transports[2]->abandon();
  const Ending ending = ending_of([&] { tick_for_ever(a); });
  EXPECT_EQ(ending.rank, 2u);
  EXPECT_TRUE(has(ending.what, "has left")) << ending.what;
}

TEST(Presence, MessageOfAnotherProgramNamesItsSender) {
  const auto transports = in_process_transports(2);
  Presence here(*transports[0], 300ms);
  const Presence::Message nonsense{};
  const auto sender = transports[1]->sender(0, {.lane = Lane::presence}, nonsense);
  sender->start(nonsense.size());
  const Ending ending = ending_of([&] { tick_for_ever(here); });
  EXPECT_EQ(ending.rank, 1u);
  EXPECT_TRUE(has(ending.what, "not gradwire's")) << ending.what;
}

TEST(Presence, LongReasonsAreCutOff) {
  const auto transports = in_process_transports(2);
  Presence a(*transports[0], 300ms), b(*transports[1], 300ms);
  EXPECT_THROW(a.fail(0, std::string(5000, 'x')), PeerError);
  const Ending ending = ending_of([&] { tick_for_ever(b); });
  EXPECT_EQ(ending.rank, 0u);
  EXPECT_TRUE(has(ending.what, "xxx")) << ending.what;
  EXPECT_LT(ending.what.size(), Presence::kMessageBytes + 100);
}

TEST(PresenceThread, VerdictReachesAllRanksWithTheFirstCause) {
  constexpr std::size_t kRanks = 5;
  const auto transports = in_process_transports(kRanks);
  std::vector<Ending> endings(kRanks);
  run_ranks(kRanks, [&](std::size_t rank) {
    Presence presence(*transports[rank], 10s);
    presence.set_step(rank == 1 ? 17 : 16);
    endings[rank] = ending_of([&] {
      if (rank == 1) {
        for (int i = 0; i < 20; ++i) {
          presence.tick();
          std::this_thread::sleep_for(1ms);
        }
        presence.fail(3, "its frame was damaged");
      }
      tick_for_ever(presence);
    });
    EXPECT_TRUE(presence.is_over());
  });
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(endings[rank].rank, 3u);
    EXPECT_EQ(endings[rank].what,
              std::string("lost rank 3 (thread 3) at step 18: its frame was damaged") +
                  (rank == 1 ? "" : "; found by rank 1 (thread 1)"));
  }
}

// One rank stops in the middle, as a process would that was killed with its connections left open.
TEST(PresenceThread, SilentRankIsNamedByAllOthers) {
  constexpr std::size_t kRanks = 4;
  const auto transports = in_process_transports(kRanks);
  std::vector<Ending> endings(kRanks);
  std::atomic<std::size_t> still_there = kRanks - 1;
  run_ranks(kRanks, [&](std::size_t rank) {
    Presence presence(*transports[rank], 1000ms);
    if (rank == 2) {
      while (still_there > 0) std::this_thread::sleep_for(1ms);
      return;
    }
    endings[rank] = ending_of([&] { tick_for_ever(presence); });
    --still_there;
  });
  for (const std::size_t rank : {0u, 1u, 3u}) {
    EXPECT_EQ(endings[rank].rank, 2u);
    EXPECT_TRUE(has(endings[rank].what, "fell silent")) << endings[rank].what;
  }
}

// The first to leave waits for the last, and keeps saying that it lives.
TEST(PresenceThread, RanksLeaveAtDifferentTimesInPeace) {
  constexpr std::size_t kRanks = 3;
  InProcessWorld world(kRanks);
  std::atomic<bool> last_is_leaving = false;
  EXPECT_NO_THROW(run_ranks(kRanks, [&](std::size_t rank) {
    const auto transport = world.join(rank);
    Presence presence(*transport, 800ms);
    if (rank == 2) {
      const Clock::time_point until = Clock::now() + 1000ms;
      while (Clock::now() < until) {
        presence.tick();
        std::this_thread::sleep_for(presence.tick_interval());
      }
      last_is_leaving = true;
    }
    presence.leave();
    EXPECT_TRUE(last_is_leaving);
    EXPECT_FALSE(presence.is_over());
  }));
}

TEST(PresenceThread, LeavingAtOnceIsInPeaceHoweverOften) {
  for (int round = 0; round < 20; ++round) {
    InProcessWorld world(4);
    EXPECT_NO_THROW(run_ranks(4, [&](std::size_t rank) {
      const auto transport = world.join(rank);
      Presence presence(*transport, 10s);
      presence.tick();
      presence.leave();
    }));
  }
}

TEST(PresenceThread, LossWhileLeavingIsToldToo) {
  constexpr std::size_t kRanks = 3;
  const auto transports = in_process_transports(kRanks);
  std::vector<Ending> endings(kRanks);
  run_ranks(kRanks, [&](std::size_t rank) {
    Presence presence(*transports[rank], 10s);
    endings[rank] = ending_of([&] {
      if (rank == 2) {
        for (int i = 0; i < 50; ++i) {
          presence.tick();
          std::this_thread::sleep_for(1ms);
        }
        presence.fail(2, "it gave up");
      }
      presence.leave();
    });
  });
  for (const Ending& ending : endings) {
    EXPECT_EQ(ending.rank, 2u);
    EXPECT_TRUE(has(ending.what, "it gave up")) << ending.what;
  }
}

}  // namespace
}  // namespace gradwire
