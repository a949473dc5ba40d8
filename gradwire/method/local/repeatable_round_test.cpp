// Rounds of local(...) in groups whose ranks come and go.
#include <gtest/gtest.h>

#include <cmath>

#include "gradwire/collective/test_support.h"
#include "gradwire/method/parsed_method.h"
#include "gradwire/method/repeatable_method.h"
#include "gradwire/method/repeatable_test_support.h"

namespace gradwire {
namespace {

constexpr std::size_t kRanks = 3;

std::vector<MethodTensor> tensors() { return {{"a", {300}}, {"b", {40, 5}}}; }

using Values = std::vector<std::vector<float>>;

// How far a worker moves in a round.
Values moved(std::size_t rank, std::uint64_t round) {
  Values values;
  for (std::size_t i = 0; i < tensors().size(); ++i) {
    values.push_back(rank_values(rank, i + 10 * round, tensors()[i].elements()));
  }
  return values;
}

std::vector<std::span<float>> spans(Values& values) { return {values.begin(), values.end()}; }

std::unique_ptr<RepeatableMethod> make(const char* spec, Communicator& communicator,
                                       CommitGate& gate) {
  return parse_method(spec).make_repeatable(communicator, tensors(),
                                            {.topology = Topology::scatter, .seed = 5}, gate);
}

void subtract(const Values& from_all, Values& model) {
  for (std::size_t i = 0; i < model.size(); ++i) {
    for (std::size_t j = 0; j < model[i].size(); ++j) model[i][j] -= from_all[i][j];
  }
}

TEST(RepeatableRoundThreads, TheModelIsThatOfFixedRanks) {
  for (const char* spec :
       {"local(none, every=1)", "local(topk(5%), every=1, outer=nesterov(0.7, 0.9))",
        "local(sign, every=1, outer=sgd(0.5))"}) {
    run_communicators(kRanks, [&](Communicator& communicator) {
      TestGate gate(kRanks);
      const auto rounds = make(spec, communicator, gate);
      const auto fixed =
          make_method(communicator, tensors(), spec, {.topology = Topology::scatter, .seed = 5});
      Values ours = {std::vector<float>(300), std::vector<float>(200)};
      for (std::uint64_t round = 0; round < 6; ++round) {
        Values own = moved(communicator.rank(), round);
        Values theirs = ours;
        const std::vector<std::span<const float>> before(theirs.begin(), theirs.end());
        fixed->begin({.step = round, .parameters = before});
        subtract(own, theirs);
        for (std::size_t i = 0; i < theirs.size(); ++i) fixed->submit(i, theirs[i]);
        fixed->finish();
        rounds->run({.step = round, .learning_rate = 0.1}, spans(own));
        subtract(own, ours);
        for (std::size_t i = 0; i < ours.size(); ++i) {
          for (std::size_t j = 0; j < ours[i].size(); ++j) {
            ASSERT_NEAR(ours[i][j], theirs[i][j], 2e-5) << spec << ", round " << round;
          }
        }
        ours = theirs;  // differences of rounding do not add up
      }
    });
  }
}

TEST(RepeatableRoundThreads, ANewcomerReplaysTheMomentum) {
  constexpr const char* kSpec = "local(topk(5%), every=4, outer=nesterov(0.7, 0.9))";
  InProcessWorld newcomers(kRanks);
  run_communicators(kRanks, [&](Communicator& communicator) {
    TestGate gate(kRanks), other_gate(kRanks), third_gate(kRanks);
    const auto method = make(kSpec, communicator, gate);
    Communicator others(newcomers.join(communicator.rank()), {.run = 7});
    const auto newcomer = make(kSpec, others, other_gate);
    Values own;
    for (std::uint64_t round = 0; round < 4; ++round) {
      own = moved(communicator.rank(), round);
      Values replayed = own;
      method->run({.step = round}, spans(own));
      newcomer->replay({.step = round}, gate.results, spans(replayed));
      EXPECT_EQ(own, replayed) << round;
    }
    // And hands it on to the method of the next group.
    const auto next = make(kSpec, communicator, third_gate);
    next->take_over(newcomer->save(), {.workers_before = kRanks});
    EXPECT_EQ(find_array(next->save(), "outer momentum", "b")->values,
              find_array(method->save(), "outer momentum", "b")->values);
    others.close();
  });
}

TEST(RepeatableRoundThreads, ARoundThatIsGivenUpOrPoisonedChangesNothing) {
  constexpr const char* kSpec = "local(topk(5%), every=4, outer=nesterov(0.7, 0.9))";
  InProcessWorld world(kRanks);
  run_ranks(kRanks, [&](std::size_t rank) {
    Communicator communicator(world.join(rank), {.run = 7});
    TestGate gate(kRanks);
    const auto method = make(kSpec, communicator, gate);
    Values values = moved(rank, 0);
    method->run({.step = 0}, spans(values));
    const MethodState before = method->save();
    values = moved(rank, 1);
    if (rank == 1) values[0][7] = NAN;
    EXPECT_GT(method->run({.step = 1}, spans(values)).poisoned, 0u);
    EXPECT_EQ(method->save(), before);
    gate.gives_up = true;
    values = moved(rank, 2);
    EXPECT_THROW(method->run({.step = 2}, spans(values)), Error);
    EXPECT_EQ(method->save(), before);
  });
}

TEST(RepeatableRoundThreads, AStateIsLoadedAgain) {
  constexpr const char* kSpec = "local(sign, every=4, outer=nesterov(0.7, 0.9))";
  run_communicators(kRanks, [&](Communicator& communicator) {
    TestGate gate(kRanks), other_gate(kRanks);
    const auto method = make(kSpec, communicator, gate);
    const auto again = make(kSpec, communicator, other_gate);
    Values values = moved(communicator.rank(), 0);
    method->run({.step = 0}, spans(values));
    again->load(method->save());
    EXPECT_EQ(again->save(), method->save());
    MethodState other = method->save();
    other.spec = "local(sign, every=5)";
    EXPECT_THROW(again->load(other), Error);
  });
}

TEST(RepeatableRound, RoundsOfSeveralExchangesAreRefusedWithTheReason) {
  const auto why = [](const char* spec) { return parse_method(spec).why_not_repeatable; };
  EXPECT_NE(why("local(none, after=5)").find("after="), std::string::npos);
  EXPECT_NE(why("local(none, delay=5)").find("delay="), std::string::npos);
  EXPECT_NE(why("local(powersgd(rank=2))").find("more than one exchange"), std::string::npos);
  EXPECT_EQ(why("local(topk(1%))"), "");
}

}  // namespace
}  // namespace gradwire
