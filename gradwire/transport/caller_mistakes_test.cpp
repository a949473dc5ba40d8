// A caller's mistakes are errors that say what was wrong; they do not end the program.
#include <gtest/gtest.h>

#include <array>

#include "gradwire/core/error_test_support.h"
#include "gradwire/transport/in_process.h"
#include "gradwire/transport/test_support.h"

namespace gradwire {
namespace {

constexpr Tag kTag{.lane = Lane::hop};

TEST(TransportMistakes, OfJoiningAWorld) {
  EXPECT_EQ(error_of([] { InProcessWorld world(0); }),
            "a world of no ranks: it needs at least one");
  InProcessWorld world(2);
  EXPECT_EQ(error_of([&] { world.join(2); }),
            "there is no rank 2 in a world of 2: ranks are counted from 0");
  const auto first = world.join(1);
  EXPECT_EQ(error_of([&] { world.join(1); }),
            "rank 1 has joined this world before: a rank joins once");
}

TEST(TransportMistakes, OfTransfers) {
  const auto ranks = in_process_transports(2);
  std::array<std::byte, 4> memory{};
  EXPECT_EQ(error_of([&] { ranks[0]->sender(0, kTag, memory); }),
            "rank 0 of 2 cannot have a transfer with rank 0: that is itself");
  EXPECT_EQ(error_of([&] { ranks[1]->receiver(7, kTag, memory); }),
            "rank 1 of 2 cannot have a transfer with rank 7: ranks are counted from 0");
  const auto sender = ranks[0]->sender(1, kTag, memory);
  EXPECT_EQ(error_of([&] { sender->start(5); }),
            "a sender was started with 5 bytes, but was made for a memory of 4");
  sender->start(4);
  EXPECT_EQ(error_of([&] { sender->start(4); }),
            "a transfer was started again while it was under way: wait until it is done()");
}

TEST(TransportMistakes, OfGroups) {
  const auto ranks = in_process_transports(4);
  const auto refusal = [&](std::vector<std::size_t> members, std::uint16_t number) {
    return error_of([&] { make_subgroup(*ranks[1], members, number); });
  };
  EXPECT_EQ(refusal({1, 3}, 0), "group 0 is everybody: number groups from 1");
  EXPECT_EQ(refusal({}, 7), "group 7 has no members");
  EXPECT_EQ(refusal({3, 1}, 7), "group 7: list each member once, in rising order");
  EXPECT_EQ(refusal({1, 4}, 7), "group 7: there is no rank 4 among 4");
  EXPECT_EQ(refusal({0, 3}, 7), "group 7: rank 1 makes it, but is not among its members");

  const std::array<std::size_t, 2> members{1, 3};
  const auto group = make_subgroup(*ranks[1], members, 7);
  std::array<std::byte, 4> memory{};
  EXPECT_EQ(error_of([&] { group->sender(2, kTag, memory); }),
            "rank 0 of 2 cannot have a transfer with rank 2: ranks are counted from 0");
  const std::array<std::size_t, 1> alone{0};
  const auto inner = make_subgroup(*group, alone, 8);
  EXPECT_EQ(error_of([&] { group->sender(1, {.lane = Lane::hop, .group = 8}, memory); }),
            "a group of ranks cannot be cut into groups: make group 8 from the whole transport");
}

}  // namespace
}  // namespace gradwire
