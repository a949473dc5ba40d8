#include "gradwire/method/state.h"

#include <algorithm>

#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

using Tensors = std::vector<StateTensor>;

TEST(StateDifferences, EqualListsHaveNone) {
  const Tensors tensors = {{"a", {3, 4}}, {"b", {5}}};
  EXPECT_EQ(differences(tensors, tensors), "");
  EXPECT_EQ(differences({}, {}), "");
}

TEST(StateDifferences, EveryOneIsNamed) {
  const Tensors ours = {{"a", {3, 4}}, {"b", {5}}, {"d", {}}};
  const Tensors saved = {{"a", {4, 3}}, {"c", {5}}, {"d", {}}};
  EXPECT_EQ(differences(ours, saved),
            "tensor 'a' has shape [3, 4], saved with [4, 3]; tensor 'b' was not saved; saved "
            "tensor 'c' is not here");
}

TEST(StateDifferences, AnotherOrderIsOne) {
  const Tensors ours = {{"a", {3}}, {"b", {3}}};
  const Tensors saved = {{"b", {3}}, {"a", {3}}};
  EXPECT_EQ(differences(ours, saved), "the order: tensor 0 is 'a', and was saved as 'b'");
  EXPECT_EQ(differences(ours, Tensors{{"a", {3}}, {"b", {3}}, {"a", {3}}}),
            "2 tensors are here, 3 were saved");
}

// A rank's own memory of one tensor, one that is the same on all, and the range that it owns.
MethodState some_state(std::size_t rank, std::size_t ranks) {
  const auto number = static_cast<float>(rank);
  const auto owned = [&](std::string tensor) {
    return StateArray{"down", std::move(tensor), Sharing::owner, rank, {number}};
  };
  return {.spec = "ef(topk(1%), down=natural)",
          .topology = "scatter",
          .rank = rank,
          .ranks = ranks,
          .tensors = {{"b", {4}}, {"a", {2, 2}}},
          .arrays = {owned("b"),
                     {"error", "b", Sharing::worker, 0, {number, 0.5F, -number, 1e30F}},
                     {"replica", "b", Sharing::replicated, 0, {1, 2, 3, 4}},
                     owned("a")},
          .numbers = {{"steps", number}},
          .blobs = {{"uploads", {std::byte{1}}}},
          .is_reshared = false,
          .only_averages = false};
}

std::vector<MethodState> some_states(std::size_t ranks) {
  std::vector<MethodState> states;
  for (std::size_t rank = 0; rank < ranks; ++rank) states.push_back(some_state(rank, ranks));
  return states;
}

std::vector<float> values_of(const MethodState& state, const std::string& memory) {
  std::vector<float> values;
  for (const StateArray& array : state.arrays) {
    if (array.memory != memory) continue;
    values.insert(values.end(), array.values.begin(), array.values.end());
  }
  return values;
}

void expect_means_are_kept(std::size_t old_ranks, std::size_t ranks) {
  const float mean = static_cast<float>(old_ranks - 1) / 2;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const MethodState state = reshare(some_states(old_ranks), rank, ranks);
    EXPECT_EQ(values_of(state, "error"), (std::vector<float>{mean, 0.5F, -mean, 1e30F}));
    EXPECT_EQ(values_of(state, "replica"), (std::vector<float>{1, 2, 3, 4}));
    EXPECT_EQ(state.rank, rank);
    EXPECT_EQ(state.ranks, ranks);
    EXPECT_EQ(state.tensors, some_state(0, 1).tensors);
    EXPECT_EQ(state.numbers.at("steps"), 0);
    EXPECT_TRUE(state.blobs.empty());
    EXPECT_TRUE(state.is_reshared);
  }
}

TEST(StateReshare, FewerRanksKeepTheMean) { expect_means_are_kept(4, 2); }
TEST(StateReshare, MoreRanksKeepTheMean) { expect_means_are_kept(2, 3); }

TEST(StateReshare, AsManyRanksKeepTheirOwn) {
  const MethodState state = reshare(some_states(3), 2, 3);
  EXPECT_EQ(values_of(state, "error"), (std::vector<float>{2, 0.5F, -2, 1e30F}));
  EXPECT_EQ(state.numbers.at("steps"), 2);
  EXPECT_EQ(values_of(state, "down").size(), 6U);
  EXPECT_TRUE(state.is_reshared);
}

TEST(StateReshare, ASilentServerDoesNotCount) {
  std::vector<MethodState> states = some_states(3);
  states[0].only_averages = true;
  states[0].arrays.erase(states[0].arrays.begin() + 1);
  for (const std::size_t ranks : {2U, 3U}) {
    const MethodState state = reshare(states, 0, ranks);
    EXPECT_EQ(values_of(state, "error"), (std::vector<float>{1.5F, 0.5F, -1.5F, 1e30F}));
    EXPECT_EQ(values_of(state, "down").size(), 6U);
    EXPECT_EQ(state.numbers.at("steps"), 1);
    EXPECT_FALSE(state.only_averages);
  }
  EXPECT_EQ(values_of(reshare(states, 2, 3), "error")[0], 2);
  states[0].arrays.pop_back();
  states[0].arrays.pop_back();
  EXPECT_EQ(message_of<Error>([&] { reshare(states, 0, 3); }),
            "the saved state of rank 0 has no memory 'replica' of tensor 'b'");
}

TEST(StateReshare, OwnersRangesAreAllGivenInOrder) {
  const MethodState state = reshare(some_states(4), 1, 2);
  std::vector<std::string> found;
  for (const StateArray& array : state.arrays) {
    if (array.sharing == Sharing::owner)
      found.push_back(array.tensor + std::to_string(array.first));
  }
  EXPECT_EQ(found, (std::vector<std::string>{"a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3"}));
  EXPECT_EQ(values_of(state, "down"), (std::vector<float>{0, 1, 2, 3, 0, 1, 2, 3}));
}

std::string refusal(const std::vector<MethodState>& states) {
  return message_of<Error>([&] { reshare(states, 0, 5); });
}

TEST(StateReshare, WhatDoesNotFitTogetherIsRefusedWithTheReason) {
  EXPECT_EQ(refusal({}), "there is no saved state to load");
  std::vector<MethodState> states = some_states(2);
  std::swap(states[0], states[1]);
  EXPECT_EQ(refusal(states),
            "the saved state of rank 0 is that of rank 1 of 2, among states of 2 ranks");
  states = some_states(2);
  states[1].spec = "direct(none)";
  EXPECT_EQ(refusal(states),
            "the saved state of rank 1 is of direct(none), that of rank 0 of ef(topk(1%), "
            "down=natural)");
  states = some_states(2);
  states[1].tensors[0].name = "c";
  EXPECT_EQ(refusal(states),
            "the saved state of rank 1 is not of the tensors of rank 0: tensor 'c' was not saved; "
            "saved tensor 'b' is not here");
}

TEST(StateReshare, ArraysThatDifferBetweenRanksAreNamed) {
  std::vector<MethodState> states = some_states(3);
  states[2].arrays[1].values.pop_back();
  EXPECT_EQ(refusal(states),
            "the saved state of rank 2 has another length or kind of memory 'error' of tensor 'b' "
            "than rank 0: 3 values, not 4");
  states[2].arrays.erase(states[2].arrays.begin() + 1);
  EXPECT_EQ(refusal(states), "the saved state of rank 2 has no memory 'error' of tensor 'b'");
  states = some_states(3);
  states[0].arrays.erase(states[0].arrays.begin() + 2);
  EXPECT_EQ(refusal(states), "the saved state of rank 0 has no memory 'replica' of tensor 'b'");
  states = some_states(3);
  states[1].arrays[2].values[3] = 5;
  EXPECT_EQ(refusal(states),
            "the saved state of rank 1 has other values in memory 'replica' of tensor 'b' than "
            "rank 0: were they saved at the same step?");
}

}  // namespace
}  // namespace gradwire
