// Steps that are given up, repeated and replayed give what a step without all that gives.
#include "gradwire/collective/test_support.h"
#include "gradwire/method/parsed_method.h"
#include "gradwire/method/repeatable_method.h"
#include "gradwire/method/repeatable_test_support.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

constexpr std::size_t kRanks = 3;
constexpr std::uint64_t kSteps = 4;

std::vector<MethodTensor> tensors() { return {{"a", {3000}}, {"b", {40, 5}}, {"c", {7}}}; }

using Values = std::vector<std::vector<float>>;

Values gradients(std::size_t rank, std::uint64_t step) {
  Values values;
  for (std::size_t i = 0; i < tensors().size(); ++i) {
    values.push_back(rank_values(rank, i + 10 * step, tensors()[i].elements()));
  }
  return values;
}

std::vector<std::span<float>> spans(Values& values) { return {values.begin(), values.end()}; }

struct Case {
  const char* spec;
  Topology topology;
};

// For the names of tests: without it they contain addresses.
void PrintTo(const Case& some, std::ostream* out) {
  *out << some.spec << " on " << name(some.topology);
}

class RepeatableThreads : public testing::TestWithParam<Case> {
 protected:
  static std::unique_ptr<RepeatableMethod> make(Communicator& communicator, CommitGate& gate) {
    return parse_method(GetParam().spec)
        .make_repeatable(communicator, tensors(), {.topology = GetParam().topology, .seed = 5},
                         gate);
  }
};

TEST_P(RepeatableThreads, AStepBehindAGateIsTheStepItself) {
  run_communicators(kRanks, [&](Communicator& communicator) {
    TestGate gate(kRanks);
    const auto gated = make(communicator, gate);
    const auto plain =
        make_method(communicator, tensors(), GetParam().spec,
                    {.topology = GetParam().topology, .seed = 5, .group_elements = 1'000'000});
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      Values a = gradients(communicator.rank(), step), b = a;
      gated->run({.step = step}, spans(a));
      plain->run({.step = step}, spans(b));
      EXPECT_EQ(a, b) << step;
    }
  });
}

TEST_P(RepeatableThreads, ReplayGivesTheOutputsAndTheReplicatedMemories) {
  // Frames name their exchange, the first one of its communicator: so the newcomers have their own.
  InProcessWorld newcomers(kRanks);
  run_communicators(kRanks, [&](Communicator& communicator) {
    TestGate gate(kRanks), other_gate(kRanks);
    const auto method = make(communicator, gate);
    Communicator others(newcomers.join(communicator.rank()), {.run = 7});
    const auto newcomer = make(others, other_gate);
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      Values own = gradients(communicator.rank(), step), replayed = own;
      method->run({.step = step}, spans(own));
      newcomer->replay({.step = step, .learning_rate = 0}, gate.results, spans(replayed));
      EXPECT_EQ(own, replayed) << step;
    }
    const MethodState ours = method->save(), theirs = newcomer->save();
    for (std::size_t i = 0; i < ours.arrays.size(); ++i) {
      if (ours.arrays[i].sharing != Sharing::replicated) continue;
      EXPECT_EQ(ours.arrays[i], theirs.arrays[i]);
    }
    others.close();
  });
}

TEST_P(RepeatableThreads, AStepThatIsGivenUpChangesNoMemory) {
  MethodState before[kRanks], after[kRanks];
  Values expected[kRanks], repeated[kRanks];
  InProcessWorld world(kRanks);
  run_ranks(kRanks, [&](std::size_t rank) {
    Communicator communicator(world.join(rank), {.run = 7});
    TestGate gate(kRanks);
    const auto method = make(communicator, gate);
    Values values = gradients(rank, 0);
    method->run({.step = 0}, spans(values));
    before[rank] = method->save();
    gate.gives_up = true;
    values = gradients(rank, 1);
    EXPECT_THROW(method->run({.step = 1}, spans(values)), Error);
    after[rank] = method->save();
  });
  for (std::size_t rank = 0; rank < kRanks; ++rank) EXPECT_EQ(before[rank], after[rank]);

  // In another group of the same size it goes on as if nothing had happened.
  run_communicators(kRanks, [&](Communicator& communicator) {
    const std::size_t rank = communicator.rank();
    TestGate gate(kRanks), other_gate(kRanks);
    const auto method = make(communicator, gate), taken = make(communicator, other_gate);
    Values values = gradients(rank, 0);
    method->run({.step = 0}, spans(values));
    expected[rank] = repeated[rank] = gradients(rank, 1);
    method->run({.step = 1}, spans(expected[rank]));
    taken->take_over(after[rank], {.workers_before = kRanks});
    taken->run({.step = 1}, spans(repeated[rank]));
    EXPECT_EQ(expected[rank], repeated[rank]);
  });
}

INSTANTIATE_TEST_SUITE_P(All, RepeatableThreads,
                         testing::Values(Case{"none", Topology::scatter},
                                         Case{"natural", Topology::gather},
                                         Case{"ef(topk(5%))", Topology::gather},
                                         Case{"ef(topk(5%))", Topology::scatter},
                                         Case{"ef(topk(5%), down=none)", Topology::scatter},
                                         Case{"ef21(topk(5%))", Topology::gather},
                                         Case{"diana(natural)", Topology::scatter}));

// e / N is what an error adds to the mean, and N changes.
TEST(RepeatableThreads, AnErrorKeepsItsEffectWhenTheGroupShrinks) {
  MethodState old;
  run_communicators(3, [&](Communicator& communicator) {
    TestGate gate(3);
    const auto method =
        parse_method("ef(topk(5%))").make_repeatable(communicator, tensors(), {}, gate);
    Values values = gradients(communicator.rank(), 0);
    method->run({.step = 0}, spans(values));
    if (communicator.rank() == 1) old = method->save();
  });
  run_communicators(2, [&](Communicator& communicator) {
    TestGate gate(2);
    const auto method =
        parse_method("ef(topk(5%))").make_repeatable(communicator, tensors(), {}, gate);
    method->take_over(old, {.workers_before = 3});
    const MethodState now = method->save();
    const StateArray& before = *find_array(old, "error", "a");
    const StateArray& after = *find_array(now, "error", "a");
    for (std::size_t i = 0; i < before.values.size(); ++i) {
      EXPECT_FLOAT_EQ(after.values[i] / 2, before.values[i] / 3);
    }
  });
}

TEST(RepeatableThreads, ShiftsRestartAtTheirMean) {
  run_communicators(2, [&](Communicator& communicator) {
    TestGate gate(2), other_gate(2);
    const auto make = [&](TestGate& with) {
      return parse_method("ef21(topk(5%))")
          .make_repeatable(communicator, tensors(), {.topology = Topology::gather}, with);
    };
    const auto method = make(gate), other = make(other_gate);
    Values values = gradients(communicator.rank(), 0);
    method->run({.step = 0}, spans(values));
    other->take_over(method->save(), {.workers_before = 2, .has_lost_shifts = true});
    const MethodState state = other->save();
    EXPECT_EQ(find_array(state, "shift", "a")->values,
              find_array(state, "mean shift", "a")->values);
  });
}

}  // namespace
}  // namespace gradwire
