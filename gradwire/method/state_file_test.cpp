#include "gradwire/method/state_file.h"

#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

// A method that is nothing but its state.
class Remembering final : public Method {
 public:
  const std::string& spec() const override { return state.spec; }
  MethodTraits traits() const override { return {}; }
  Topology topology() const override { return Topology::scatter; }
  void begin(const StepContext& /*context*/) override {}
  void submit(std::size_t /*tensor*/, std::span<float> /*gradient*/) override {}
  MethodReport finish() override { return {}; }
  MethodState save() const override { return state; }
  void load(const MethodState& loaded) override { state = loaded; }
  std::vector<TensorPiece> owned() const override { return owned_now; }
  void rescale(float /*factor*/) override {}
  std::size_t memory_bytes() const override { return 0; }

  MethodState state;
  std::vector<TensorPiece> owned_now;
};

// Every rank owns two elements of a tensor of eight, of each of two memories.
Remembering some_method(std::size_t rank, std::size_t ranks) {
  const auto number = static_cast<float>(rank);
  Remembering method;
  method.state = {.spec = "ef(topk(1%), down=natural)",
                  .topology = "scatter",
                  .rank = rank,
                  .ranks = ranks,
                  .tensors = {{"a", {8}}},
                  .arrays = {{"error", "a", Sharing::worker, 0, {number, 1}},
                             {"down", "a", Sharing::owner, 2 * rank, {number, number}},
                             {"mean", "a", Sharing::owner, 2 * rank, {number, number}}},
                  .numbers = {},
                  .blobs = {},
                  .is_reshared = false,
                  .only_averages = false};
  method.owned_now = {{.tensor = 0, .first = 2 * rank, .elements = 2}};
  return method;
}

void save_all(const TestDirectory& directory, std::size_t ranks) {
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    save_method(some_method(rank, ranks), directory / "", rank, ranks);
  }
}

std::string refusal(const TestDirectory& directory, std::size_t rank, std::size_t ranks) {
  Remembering method = some_method(rank, ranks);
  const MethodState before = method.state;
  const std::string message =
      message_of<FileError>([&] { load_method(method, directory / "", rank, ranks); });
  EXPECT_EQ(method.state, before);
  return message;
}

TEST(StateFile, EachRankFindsWhatItSaved) {
  const TestDirectory directory;
  save_all(directory, 2);
  EXPECT_EQ(directory.names(),
            (std::vector<std::string>{"method-rank0-of-2.gws", "method-rank1-of-2.gws"}));
  for (std::size_t rank = 0; rank < 2; ++rank) {
    Remembering method;
    load_method(method, directory / "", rank, 2);
    EXPECT_EQ(method.state, some_method(rank, 2).state);
  }
}

TEST(StateFile, AnotherNumberOfRanksIsDealtOutAnew) {
  const TestDirectory directory;
  save_all(directory, 4);
  Remembering method;
  load_method(method, directory / "", 1, 2);
  EXPECT_TRUE(method.state.is_reshared);
  EXPECT_EQ(method.state.rank, 1U);
  EXPECT_EQ(method.state.ranks, 2U);
  EXPECT_EQ(method.state.arrays.at(0).values, (std::vector<float>{1.5F, 1}));
  EXPECT_EQ(method.state.arrays.size(), 1U + 2 * 4);
}

TEST(StateFile, WhatIsOwnedNowDecidesWhetherTheOwnFileIsEnough) {
  const TestDirectory directory;
  save_all(directory, 4);
  Remembering method = some_method(1, 4);
  method.owned_now = {{.tensor = 0, .first = 3, .elements = 1}};
  load_method(method, directory / "", 1, 4);
  EXPECT_FALSE(method.state.is_reshared);

  method.owned_now = {{.tensor = 0, .first = 3, .elements = 2}};
  load_method(method, directory / "", 1, 4);
  EXPECT_TRUE(method.state.is_reshared);
  EXPECT_EQ(method.state.arrays.at(0).values, (std::vector<float>{1, 1}));  // its own
}

TEST(StateFile, OneMemoryThatDoesNotReachIsTooFew) {
  const TestDirectory directory;
  save_all(directory, 2);
  Remembering short_one = some_method(1, 2);
  short_one.state.arrays[2].values.pop_back();
  save_method(short_one, directory / "", 1, 2);
  Remembering method = some_method(1, 2);
  load_method(method, directory / "", 1, 2);
  EXPECT_TRUE(method.state.is_reshared);
}

TEST(StateFile, EveryMissingFileIsNamed) {
  const TestDirectory directory;
  save_all(directory, 4);
  std::filesystem::remove(directory / "method-rank1-of-4.gws");
  std::filesystem::remove(directory / "method-rank3-of-4.gws");
  const std::string reason =
      "the states of all 4 ranks are needed, and these are missing: method-rank1-of-4.gws, "
      "method-rank3-of-4.gws";
  EXPECT_EQ(refusal(directory, 0, 2), (directory / "").string() + ": " + reason);
  EXPECT_EQ(refusal(directory, 3, 4), (directory / "").string() + ": " + reason);
}

TEST(StateFile, SeveralNumbersOfRanksAreAmbiguousUnlessOneIsOurs) {
  const TestDirectory directory;
  for (const std::size_t ranks : {1U, 2U, 4U}) save_all(directory, ranks);
  EXPECT_EQ(refusal(directory, 0, 3),
            (directory / "").string() +
                ": has states of 1, of 2 and of 4 ranks, and of none of 3: remove those that are "
                "not to be loaded");
  Remembering method;
  load_method(method, directory / "", 1, 2);
  EXPECT_EQ(method.state, some_method(1, 2).state);
}

TEST(StateFile, NothingToLoadIsSaid) {
  const TestDirectory directory;
  write_text(directory / "method-rank7-of-2.gws", "");
  write_text(directory / "method-rank01-of-2.gws", "");
  write_text(directory / "method-rank0-of-2.gws.old", "");
  EXPECT_EQ(refusal(directory, 1, 2), (directory / "").string() +
                                          ": has no states of a method, such as "
                                          "method-rank0-of-2.gws");
  Remembering method;
  EXPECT_THROW(load_method(method, directory / "absent", 0, 1), FileError);
  EXPECT_THROW(save_method(method, directory / "absent", 0, 1), FileError);
}

TEST(StateFile, DamageIsNamedWithThePlace) {
  const TestDirectory directory;
  save_all(directory, 2);
  const std::filesystem::path path = directory / "method-rank1-of-2.gws";
  const std::string whole = read_text(path);
  write_text(path, whole.substr(0, 100));
  for (const std::size_t ranks : {2U, 3U}) {
    EXPECT_EQ(refusal(directory, 1, ranks), path.string() + ": at byte 100: the state ends early");
  }
  write_text(path, read_text(directory / "method-rank0-of-2.gws"));
  EXPECT_EQ(refusal(directory, 1, 2),
            path.string() + ": is the state of rank 0 of 2, not of the one that its name tells");
}

}  // namespace
}  // namespace gradwire
