// local(...) in an elastic group: the weights of rounds from which a member is missing.
#include <atomic>
#include <chrono>
#include <thread>

#include "gradwire/elastic/elastic_group.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

constexpr std::size_t kElements = 64;
constexpr std::size_t kBatch = 24;

// A process of the group, on a thread of its own. It moves by `amount` in each round.
struct Process {
  Process(const char* spec, float amount, std::vector<std::string> join)
      : amount_(amount),
        group({{"weights", {kElements}}}, spec, {.join = std::move(join), .global_batch = kBatch},
              {.apply = [this](const ElasticUpdate& update) { output = update.outputs[0][3]; },
               .save = [] { return std::vector<std::byte>(); },
               .load = [](std::span<const std::byte>) {}}) {}

  // How many members there were; 0: it is over.
  std::size_t round() {
    const auto turn = group.next();
    if (!turn) return 0;
    // Nothing is computed here. A newcomer would never catch up with a member that waits for
    // nobody.
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::vector<float> moved(kElements, turn->share ? amount_ : 0);
    const std::span<float> span(moved);
    const std::size_t samples = turn->share ? kBatch / turn->shares : 0;
    const auto report = group.step({&span, 1}, {.samples = samples});
    return report ? report->members : 0;
  }

  const float amount_;
  float output = 0;
  ElasticGroup group;
};

// Of two members that move by 1 and 3, the second one is lost: what the last round of both gives,
// and the first one without it.
struct Outputs {
  float both = 0, alone = 0;
};
Outputs outputs(const char* spec) {
  Process first(spec, 1, {});
  std::atomic<int> rounds_of_both = 0;
  std::thread second_thread([&] {
    Process second(spec, 3, {first.group.address()});
    while (rounds_of_both < 3 && second.round() > 0) {
    }
    second.group.abandon();
  });
  Outputs found;
  while (rounds_of_both < 3) {
    const std::size_t members = first.round();
    if (members != 2) continue;
    // In its first round a newcomer has no share.
    if (++rounds_of_both == 3) found.both = first.output;
  }
  while (first.round() != 1) {
  }
  found.alone = first.output;
  second_thread.join();
  first.group.leave();
  return found;
}

TEST(ElasticRounds, TheModelMovesByTheMeanOfThoseWhoArePresent) {
  const Outputs rounds = outputs("local(none, every=6)");
  EXPECT_FLOAT_EQ(rounds.both, 2);
  EXPECT_FLOAT_EQ(rounds.alone, 1);
}

TEST(ElasticRounds, ASamplesGradientKeepsItsWeight) {
  const Outputs steps = outputs("none");
  EXPECT_FLOAT_EQ(steps.both, 2);
  EXPECT_FLOAT_EQ(steps.alone, 0.5);
}

}  // namespace
}  // namespace gradwire
