#include "gradwire/transport/in_process.h"

#include <gtest/gtest.h>

#include <array>

#include "gradwire/transport/test_support.h"

namespace gradwire {
namespace {

using namespace std::chrono_literals;
using Memory = std::array<std::byte, 16>;

constexpr Tag kTag{.lane = Lane::hop};

// What the PeerError that the call throws says, and the rank it names.
template <class Call>
std::string peer_error_of(Call call) {
  try {
    call();
  } catch (const PeerError& error) {
    return std::to_string(error.rank()) + ": " + error.what();
  }
  return "";
}

TEST(InProcess, MessageLongerThanTheMemoryFailsOnTheReceiver) {
  for (const bool receiver_comes_first : {true, false}) {
    const auto ranks = in_process_transports(2);
    const Memory out{};
    std::array<std::byte, 4> in{};
    const auto sender = ranks[0]->sender(1, kTag, out);
    const auto receiver = ranks[1]->receiver(0, kTag, in);
    if (receiver_comes_first) receiver->start();
    sender->start(5);
    if (!receiver_comes_first) receiver->start();
    EXPECT_TRUE(sender->done());
    const std::string what = "0: rank 0 (thread 0) sent a message longer than the memory for it";
    EXPECT_EQ(peer_error_of([&] { receiver->done(); }), what);
    EXPECT_EQ(peer_error_of([&] { receiver->wait_for(1s); }), what);  // however often
  }
}

TEST(InProcess, RankThatLeavesFailsBothSides) {
  const auto ranks = in_process_transports(4);
  Memory memory{};
  const auto to_2 = ranks[0]->sender(2, kTag, memory);
  const auto from_2 = ranks[1]->receiver(2, kTag, memory);
  const auto at_2 = ranks[2]->receiver(3, kTag, memory);
  const auto not_started = ranks[3]->sender(2, {.lane = Lane::up}, memory);
  to_2->start(16);
  from_2->start();
  at_2->start();
  ranks[2]->abandon();
  const std::string what = "2: rank 2 (thread 2) has left";
  for (int i = 0; i < 2; ++i) {  // however often
    EXPECT_EQ(peer_error_of([&] { to_2->done(); }), what);
    EXPECT_EQ(peer_error_of([&] { from_2->wait_for(1s); }), what);
    EXPECT_EQ(peer_error_of([&] { at_2->done(); }), what);
    EXPECT_EQ(peer_error_of([&] { not_started->start(1); }), what);
  }
  EXPECT_TRUE(not_started->done());  // nothing is under way
  std::array<float, 3> values{};
  EXPECT_EQ(peer_error_of([&] { ranks[0]->allreduce(values); }), what);
}

TEST(InProcess, GroupNamesTheRankThatLeftByItsOwnNumber) {
  const auto ranks = in_process_transports(4);
  const std::array<std::size_t, 2> members{1, 3};
  const auto group = make_subgroup(*ranks[1], members, 7);
  Memory memory{};
  const auto receiver = group->receiver(1, kTag, memory);
  receiver->start();
  ranks[3]->abandon();
  EXPECT_EQ(peer_error_of([&] { receiver->done(); }),
            "1: rank 3 (thread 3) has left; it is rank 1 of group 7");
  EXPECT_THROW(group->allreduce({}), Error);
}

TEST(InProcess, MessagesThatArrivedOutliveTheirSender) {
  auto ranks = in_process_transports(2);
  const Memory out{std::byte{42}};
  Memory in{};
  const auto receiver = ranks[1]->receiver(0, kTag, in);
  receiver->start();
  ranks[0]->sender(1, kTag, out)->start(out.size());
  ranks[0].reset();
  EXPECT_TRUE(receiver->done());
  EXPECT_EQ(in, out);
  EXPECT_EQ(peer_error_of([&] { receiver->start(); }), "0: rank 0 (thread 0) has left");
}

TEST(InProcess, TransfersGivenUpLeaveTheirLine) {
  const auto ranks = in_process_transports(2);
  const Memory out{std::byte{42}};
  Memory in{}, unused{};
  const auto first = ranks[1]->receiver(0, kTag, in);
  auto given_up = ranks[1]->receiver(0, kTag, unused);
  const auto last = ranks[1]->receiver(0, kTag, in);
  first->start();
  given_up->start();
  last->start();
  given_up.reset();
  const auto sender = ranks[0]->sender(1, kTag, out);
  sender->start(out.size());
  EXPECT_TRUE(first->done());
  EXPECT_FALSE(last->done());
  sender->start(out.size());
  EXPECT_TRUE(last->done());
  EXPECT_EQ(unused, Memory{});
}

// One side gives up again and again while the other goes on: nothing is copied into memory that is
// no longer there, which the sanitizers would see.
TEST(InProcessThread, GivingUpWhileTheOtherSideCopiesIsSafe) {
  const auto ranks = in_process_transports(2);
  run_transports(ranks, [](Transport& transport) {
    constexpr std::size_t kBytes = 100000;
    constexpr int kRounds = 300;
    const Tag end_tag{.lane = Lane::up};
    std::byte end_mark{};
    if (transport.rank() == 0) {
      const std::vector<std::byte> out(kBytes);
      const auto sender = transport.sender(1, kTag, out);
      const auto end = transport.receiver(1, end_tag, {&end_mark, 1});
      end->start();
      while (!end->done()) {
        if (sender->done()) sender->start(kBytes);
        sender->wait_for(50us);
      }
    } else {
      for (int i = 0; i < kRounds; ++i) {
        std::vector<std::byte> in(kBytes);
        const auto receiver = transport.receiver(0, kTag, in);
        receiver->start();
        if (i % 3 == 0) receiver->wait_for(20us);
      }
      const auto end = transport.sender(0, end_tag, {&end_mark, 1});
      end->start(1);
      EXPECT_TRUE(end->wait_for(60s));
    }
  });
}

TEST(InProcessThread, RankThatLeavesWakesThoseWhoWait) {
  const auto ranks = in_process_transports(4);
  const auto all = [&] {
    run_transports(ranks, [](Transport& transport) {
      if (transport.rank() == 3) return transport.abandon();
      std::array<float, 100> values{};
      Memory in{};
      const auto receiver = transport.receiver(3, kTag, in);
      if (transport.rank() == 0) return transport.allreduce(values);
      receiver->start();
      receiver->wait_for(60s);
    });
  };
  EXPECT_EQ(peer_error_of(all), "3: rank 3 (thread 3) has left");
}

TEST(InProcessThread, AllreduceGivesTheSameBitsOnAllRanks) {
  constexpr std::size_t kElements = 10007;
  std::vector<std::vector<float>> values(3, std::vector<float>(kElements));
  for (std::size_t rank = 0; rank < 3; ++rank) {
    for (std::size_t i = 0; i < kElements; ++i) {
      values[rank][i] = 1.0f / static_cast<float>(1 + i * 3 + rank);
    }
  }
  std::vector<float> expected(kElements);
  for (std::size_t i = 0; i < kElements; ++i) {
    expected[i] = values[0][i] + values[1][i] + values[2][i];  // in the order of ranks
  }
  const auto ranks = in_process_transports(3);
  run_transports(ranks,
                 [&](Transport& transport) { transport.allreduce(values[transport.rank()]); });
  for (const auto& result : values) EXPECT_EQ(result, expected);
}

TEST(RunRanks, CauseIsThrownRatherThanItsConsequences) {
  const auto run = [] {
    run_transports(in_process_transports(3), [](Transport& transport) {
      if (transport.rank() == 1) throw std::out_of_range("rank 1");
      Memory in{};
      const auto receiver = transport.receiver(1, kTag, in);
      receiver->start();
      receiver->wait_for(60s);
    });
  };
  EXPECT_THROW(run(), std::out_of_range);
}

}  // namespace
}  // namespace gradwire
