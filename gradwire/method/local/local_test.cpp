// local(...) against references that are written as the equations are.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "gradwire/codec/test_support.h"
#include "gradwire/core/error.h"
#include "gradwire/method/local/schedule.h"
#include "gradwire/method/parsed_method.h"
#include "gradwire/method/quadratic_test_support.h"
#include "gradwire/method/training_test_support.h"

namespace gradwire {
namespace {

constexpr std::size_t kRanks = 4;

const Quadratics& problem() {
  static const Quadratics quadratics({.workers = kRanks});
  return quadratics;
}

Training on_quadratics(const std::string& spec, std::size_t steps, double rate) {
  return {.spec = spec,
          .ranks = kRanks,
          .steps = steps,
          .learning_rates = {rate},
          .start = Model(problem().elements(), 3.0F),
          .gradient = [](std::size_t rank, std::span<const float> x, std::uint64_t) {
            return problem().gradient(rank, x);
          }};
}

double distance(std::span<const float> a, std::span<const float> b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    squares += std::pow(double{a[i]} - double{b[i]}, 2);
  }
  return std::sqrt(squares);
}

// --- The schedule ---

TEST(LocalSchedule, FragmentsTakeTurns) {
  const LocalSchedule whole{.every = 5};
  for (std::uint64_t step = 1; step <= 20; ++step) EXPECT_EQ(whole.begins(0, step), step % 5 == 0);
  const LocalSchedule thirds{.every = 7, .fragments = 3};
  std::vector<std::uint64_t> counts(3);
  for (std::uint64_t step = 1; step <= 70; ++step) {
    std::size_t begun = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      begun += thirds.begins(i, step) ? 1 : 0;
      counts[i] += thirds.begins(i, step) ? 1 : 0;
    }
    EXPECT_LE(begun, 1u) << step;
  }
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{10, 10, 10}));
  EXPECT_TRUE(thirds.begins(2, 7));
}

// --- Specs ---

TEST(LocalSpec, IsReadAndWritten) {
  const auto canonical = [](const char* spec) { return parse_method(spec).spec; };
  EXPECT_EQ(canonical("local(none)"), "local(none, every=30)");
  EXPECT_EQ(canonical("local_sgd"), "local(none, every=10)");
  EXPECT_EQ(canonical("diloco"), "local(none, every=500, outer=nesterov(0.7, 0.9))");
  EXPECT_EQ(canonical("sparseloco"), "local(topk(1%, chunk=4096) | twobit(bucket=512), every=30)");
  for (const char* spec :
       {"local(none, every=10, outer=sgd(0.5))", "local(powersgd(rank=2), every=8)",
        "local(lgreco(qsgd), every=8, after=100)",
        "local(topk(1%), down=natural, memory=1, every=20, fragments=4, delay=3, mix=0.25)",
        "local(sign, every=5, outer=nesterov(0.8, 0.5), after=7, dense=none)"}) {
    const std::string once = canonical(spec);
    EXPECT_EQ(canonical(once.c_str()), once);
  }
  const MethodTraits traits = parse_method("local(none, every=10, after=5)").traits;
  EXPECT_EQ(traits.output, MethodTraits::Output::model);
  EXPECT_TRUE(traits.is_round_end(3));
  EXPECT_FALSE(traits.is_round_end(10));
  EXPECT_TRUE(traits.is_round_end(25));
  EXPECT_NEAR(parse_method("diloco").traits.gain, 7, 1e-9);
}

TEST(LocalSpec, MistakesAreRefused) {
  for (const char* spec :
       {"local", "local(none, every=0)", "local(none, outer=adam(1))", "local(none, outer=sgd(0))",
        "local(none, outer=nesterov(0.7, 1))", "local(none, every=4, fragments=5)",
        "local(none, every=4, delay=4)", "local(none, mix=0.2)", "local(adam(sign))",
        "local(sasg(topk(1%)))", "local(dgc(1%))", "local(local(none))", "local(direct(topk(1%)))",
        "local(powersgd(rank=2), memory=0.9)", "local(powersgd(rank=2), down=natural)",
        "local(sign(scale=off))", "local(none, dense=sign)", "local(none, hello=1)"}) {
    EXPECT_THROW(parse_method(spec), SpecError) << spec;
  }
}

// --- The equations ---

TEST(LocalThreads, EveryStepIsSynchronousSgdToRounding) {
  const Model expected = train(on_quadratics("none", 50, 0.05)).iterates.back();
  const Model x = train(on_quadratics("local(none, every=1)", 50, 0.05)).iterates.back();
  EXPECT_LT(distance(x, expected), 1e-5 * distance(expected, Model(x.size())));
}

// Everything in doubles, one vector per worker.
struct Reference {
  double rate, nu, mu;
  std::uint64_t every, delay;
  double mix;

  std::vector<double> run(std::uint64_t steps) const {
    const std::size_t n = problem().elements();
    std::vector<double> g(n, 3), m(n), u(n);
    std::vector<std::vector<double>> x(kRanks, g);
    std::optional<std::uint64_t> begun;
    for (std::uint64_t step = 1; step <= steps; ++step) {
      for (std::size_t rank = 0; rank < kRanks; ++rank) {
        const Model rounded(x[rank].begin(), x[rank].end());
        const Model gradient = problem().gradient(rank, rounded);
        for (std::size_t i = 0; i < n; ++i) x[rank][i] -= rate * double{gradient[i]};
      }
      if (begun && step == *begun + delay) take(g, m, u, x), begun.reset();
      if (step % every == 0) {
        for (std::size_t i = 0; i < n; ++i) {
          u[i] = 0;
          for (std::size_t rank = 0; rank < kRanks; ++rank) u[i] += (g[i] - x[rank][i]) / kRanks;
        }
        begun = step;
        if (delay == 0) take(g, m, u, x), begun.reset();
      }
    }
    return x[0];
  }

  void take(std::vector<double>& g, std::vector<double>& m, const std::vector<double>& u,
            std::vector<std::vector<double>>& x) const {
    for (std::size_t i = 0; i < g.size(); ++i) {
      m[i] = mu * m[i] + u[i];
      g[i] -= nu * (u[i] + mu * m[i]);
      const double own = delay == 0 ? 0 : mix;
      for (auto& of_worker : x) of_worker[i] = own * of_worker[i] + (1 - own) * g[i];
    }
  }
};

TEST(LocalThreads, FollowsTheEquations) {
  struct Case {
    const char* spec;
    Reference reference;
  };
  for (const Case& test :
       {Case{"local(none, every=4)", {0.02, 1, 0, 4, 0, 0}},
        Case{"local(none, every=3, outer=nesterov(0.6, 0.5))", {0.02, 0.6, 0.5, 3, 0, 0}},
        Case{"local(none, every=4, delay=2)", {0.02, 1, 0, 4, 2, 0.5}},
        Case{"local(none, every=5, delay=4, mix=0.2)", {0.02, 1, 0, 5, 4, 0.2}}}) {
    const std::vector<double> expected = test.reference.run(37);
    const Model x = train(on_quadratics(test.spec, 37, 0.02)).iterates.back();
    double error = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      error = std::max(error, std::fabs(double{x[i]} - expected[i]));
    }
    EXPECT_LT(error, 1e-4) << test.spec;
  }
}

// sum of w_i d_i over the rounds = what g moved by + mean e_i, if nothing of the memory decays.
TEST(LocalThreads, NothingOfTheMovementIsLost) {
  for (const char* spec : {"local(topk(10%), memory=1, every=3)",
                           "local(topk(10%, chunk=16) | twobit, memory=1, every=3)",
                           "local(sign, every=3)", "local(qsgd(bits=3), every=3, down=none)"}) {
    constexpr std::uint64_t kSteps = 30;
    Training training = on_quadratics(spec, kSteps, 0.01);
    training.weights = {0.5F, 1.5F, 1, 1};
    training.options.topology = Topology::gather;
    std::vector<Model> moved(kRanks, Model(problem().elements()));
    std::vector<Model> at_exchange(kRanks, training.start);
    Model model;
    // Within a round, x_i moves by its own gradients alone.
    std::vector<Model> now(kRanks, training.start);
    training.on_step = [&](const TrainingStep& step) {
      for (std::size_t i = 0; i < step.x.size(); ++i) {
        moved[step.rank][i] += training.weights[step.rank] * 0.01F * step.gradient[i];
      }
      if (step.rank == 0) model = step.x;
    };
    const TrainingResult result = train(training);
    for (std::size_t i = 0; i < model.size(); ++i) {
      double given = 0, kept = 0;
      for (std::size_t rank = 0; rank < kRanks; ++rank) {
        given += double{moved[rank][i]} / kRanks;
        kept += double{memory_of(result.states[rank], "error")[i]} / kRanks;
      }
      ASSERT_NEAR(given, double{training.start[i]} - double{model[i]} + kept, 2e-4)
          << spec << ", element " << i;
    }
  }
}

// With a constant rate, workers with different optima do not meet at the common one: the gap grows
// with the rate, and goes away without local steps.
TEST(LocalThreads, TheFixedPointIsOffByAMultipleOfTheRate) {
  const auto gap = [](const char* spec, double rate, std::size_t steps) {
    Training training = on_quadratics(spec, steps, rate);
    training.ends = true;
    const Model x = train(training).iterates.back();
    return (Quadratics::to_vector(x) - problem().optimum()).norm();
  };
  const double at_once = gap("local(none, every=1)", 0.05, 600);
  const double fast = gap("local(none, every=8)", 0.02, 1600);
  const double slow = gap("local(none, every=8)", 0.01, 3200);
  EXPECT_LT(at_once, 1e-4);
  EXPECT_GT(slow, 100 * at_once);
  EXPECT_NEAR(fast / slow, 2, 0.4);
}

TEST(LocalThreads, CompressedRoundsConvergeAlike) {
  Training training = on_quadratics("local(none, every=5)", 1000, 0.02);
  training.ends = true;
  const Model exact = train(training).iterates.back();
  for (const char* spec :
       {"local(sign, every=5)", "local(topk(10%), every=5)", "local(natural | entropy, every=5)",
        "local(qsgd(bits=4), every=5)", "local(topk(10%), down=natural, every=5)"}) {
    for (const Topology topology : {Topology::scatter, Topology::gather}) {
      if (topology == Topology::gather && std::string(spec).find("down") != std::string::npos) {
        continue;
      }
      training.spec = spec;
      training.options.topology = topology;
      const Model x = train(training).iterates.back();
      EXPECT_LT(distance(x, exact), 0.15 * distance(training.start, exact)) << spec;
    }
  }
}

// All ranks have the same model after the last step, and average gradients until `after`.
TEST(LocalThreads, RanksAgreeInTheSynchronousStepsAndAtTheEnd) {
  for (const char* spec : {"local(topk(10%), every=7, after=5, dense=none)",
                           "local(none, every=7, after=5, delay=3, dense=none)"}) {
    Training training = on_quadratics(spec, 25, 0.02);
    training.ends = true;
    std::vector<std::vector<Model>> seen(25, std::vector<Model>(kRanks));
    training.on_step = [&](const TrainingStep& step) { seen[step.step][step.rank] = step.x; };
    const TrainingResult result = train(training);
    const Training plain = on_quadratics("none", 5, 0.02);
    EXPECT_EQ(result.iterates[5], train(plain).iterates[5]);
    for (std::size_t rank = 1; rank < kRanks; ++rank) {
      EXPECT_EQ(seen[4][rank], seen[4][0]);
      EXPECT_NE(seen[8][rank], seen[8][0]);
      EXPECT_EQ(seen[24][rank], seen[24][0]) << spec;
    }
    EXPECT_EQ(result.reports[0][7].exchanges, 0u);
    EXPECT_EQ(result.reports[0][7].traffic.bytes_sent, 0u);
    EXPECT_GT(result.reports[0][24].exchanges, 0u);
  }
}

// --- States ---

struct Saved {
  Model x;
  MethodState state;
};

// A run that ends after `stop` steps and continues in new methods is the same run.
TEST(LocalThreads, AResumedRunIsTheSameToTheBit) {
  for (const char* spec :
       {"local(topk(10%) | twobit, every=5)", "local(none, every=5, outer=nesterov(0.7, 0.9))",
        "local(sign, every=6, delay=4)", "local(qsgd(bits=4), every=5, after=3)"}) {
    Training training = on_quadratics(spec, 23, 0.02);
    training.ends = true;
    const Model expected = train(training).iterates.back();
    for (const std::uint64_t stop : {2ul, 5ul, 7ul, 10ul, 13ul}) {
      std::vector<Saved> saved(kRanks);
      run_communicators(kRanks, [&](Communicator& communicator) {
        TrainingRank rank(communicator, training);
        for (std::uint64_t step = 0; step < stop; ++step) rank.step(step);
        saved[communicator.rank()] = {rank.x(), rank.method().save()};
      });
      std::vector<Model> ends(kRanks);
      run_communicators(kRanks, [&](Communicator& communicator) {
        TrainingRank rank(communicator, training);
        const Saved& mine = saved[communicator.rank()];
        const auto bytes = to_bytes(mine.state);
        rank.load(mine.x, *parse_state(bytes));
        for (std::uint64_t step = stop; step < training.steps; ++step) rank.step(step);
        ends[communicator.rank()] = rank.x();
      });
      for (const Model& end : ends) EXPECT_EQ(end, expected) << spec << " after " << stop;
    }
  }
}

TEST(LocalThreads, AnotherNumberOfRanksTakesTheMeanOfTheMemories) {
  Training training = on_quadratics("local(topk(10%), every=5)", 12, 0.02);
  const TrainingResult result = train(training);
  std::vector<MethodState> fewer;
  for (std::size_t rank = 0; rank < 2; ++rank) fewer.push_back(reshare(result.states, rank, 2));
  for (std::size_t i = 0; i < problem().elements(); ++i) {
    double mean = 0;
    for (const MethodState& state : result.states) mean += double{memory_of(state, "error")[i]} / 4;
    EXPECT_NEAR(double{memory_of(fewer[1], "error")[i]}, mean, 1e-5);
  }
  EXPECT_EQ(memory_of(fewer[0], "model"), memory_of(result.states[0], "model"));
  training.ranks = 2;
  run_communicators(2, [&](Communicator& communicator) {
    TrainingRank rank(communicator, training);
    rank.load(memory_of(fewer[0], "model"), fewer[communicator.rank()]);
    EXPECT_NO_THROW(rank.step(12));
  });
}

TEST(LocalThreads, StatesOfOtherMethodsAreRefused) {
  const TrainingResult result = train(on_quadratics("local(sign, every=5)", 3, 0.02));
  const Training other = on_quadratics("local(sign, every=6)", 3, 0.02);
  run_communicators(kRanks, [&](Communicator& communicator) {
    TrainingRank rank(communicator, other);
    EXPECT_THROW(rank.load(other.start, result.states[communicator.rank()]), Error);
  });
}

// --- Several tensors ---

// Two tensors in two fragments, as a trainer of several layers has them.
TEST(LocalThreads, FragmentsOfSeveralTensorsReachTheSameModel) {
  constexpr std::size_t kElements = 40;
  const std::vector<MethodTensor> tensors = {{"a", {8, 5}}, {"b", {5}}, {"c", {kElements}}};
  for (const char* spec :
       {"local(none, every=4, fragments=2)", "local(topk(20%), every=4, fragments=3, delay=2)",
        "local(powersgd(rank=1), every=4, fragments=2)"}) {
    std::vector<std::vector<Model>> ends(kRanks);
    std::vector<std::size_t> exchanges(kRanks);
    run_communicators(kRanks, [&](Communicator& communicator) {
      const auto method = make_method(communicator, tensors, spec, {});
      std::vector<Model> x;
      for (const MethodTensor& tensor : tensors) x.emplace_back(tensor.elements(), 1.0F);
      for (std::uint64_t step = 0; step < 18; ++step) {
        std::vector<std::span<const float>> before(x.begin(), x.end());
        method->begin({.step = step, .parameters = before, .is_last = step == 17});
        for (std::size_t i = 0; i < x.size(); ++i) {
          for (std::size_t j = 0; j < x[i].size(); ++j) {
            const double to = std::sin(static_cast<double>(j + 3 * i + communicator.rank()));
            x[i][j] -= 0.1F * (x[i][j] - static_cast<float>(to));
          }
        }
        for (std::size_t i = 0; i < x.size(); ++i) method->submit(i, x[i]);
        exchanges[communicator.rank()] += method->finish().exchanges > 0 ? 1 : 0;
      }
      for (std::size_t i = 0; i < x.size(); ++i) {
        EXPECT_TRUE(std::ranges::equal(method->model(i), x[i]));
      }
      ends[communicator.rank()] = x;
    });
    for (std::size_t rank = 1; rank < kRanks; ++rank) EXPECT_EQ(ends[rank], ends[0]) << spec;
    EXPECT_GT(exchanges[0], 6u) << spec;
  }
}

// Methods that plan or average twice, with layers that are large enough for them.
TEST(LocalThreads, OtherMethodsAverageInside) {
  const std::vector<MethodTensor> tensors = {{"a", {64, 64}}, {"b", {96, 64}}, {"c", {64}}};
  for (const char* spec : {"local(lgreco(qsgd, warmup=2, period=4, window=2), every=2)",
                           "local(powersgd(rank=2), every=2)", "local(ef21(topk(10%)), every=2)",
                           "local(diana(natural), every=2)"}) {
    run_communicators(2, [&](Communicator& communicator) {
      const auto method = make_method(communicator, tensors, spec, {});
      std::vector<Model> x;
      for (const MethodTensor& tensor : tensors) x.emplace_back(tensor.elements(), 1.0F);
      double first = 0, last = 0;
      for (std::uint64_t step = 0; step < 60; ++step) {
        std::vector<std::span<const float>> before(x.begin(), x.end());
        method->begin({.step = step, .parameters = before, .is_last = step == 59});
        last = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
          for (std::size_t j = 0; j < x[i].size(); ++j) {
            const auto to = static_cast<float>(std::sin(static_cast<double>(j + 3 * i)));
            last += std::pow(double{x[i][j] - to}, 2);
            x[i][j] -= 0.1F * (x[i][j] - to);
          }
        }
        if (step == 0) first = last;
        for (std::size_t i = 0; i < x.size(); ++i) method->submit(i, x[i]);
        EXPECT_EQ(method->finish().poisoned, 0u);
      }
      EXPECT_LT(last, 0.05 * first) << spec;
    });
  }
}

// --- Bad values ---

TEST(LocalThreads, OneBadWorkerCostsItsOwnRoundAlone) {
  Training training = on_quadratics("local(topk(10%), every=4)", 400, 0.02);
  training.ends = true;
  const Model good = train(training).iterates.back();
  training.gradient = [](std::size_t rank, std::span<const float> x, std::uint64_t step) {
    Model gradient = problem().gradient(rank, x);
    if (rank == 2 && step == 9) gradient[5] = std::numeric_limits<float>::quiet_NaN();
    return gradient;
  };
  const TrainingResult result = train(training);
  EXPECT_GT(result.reports[0][11].poisoned, 0u);
  for (const std::size_t step : {3ul, 7ul, 15ul, 399ul}) {
    EXPECT_EQ(result.reports[1][step].poisoned, 0u) << step;
  }
  const Model& x = result.iterates.back();
  for (const float value : x) ASSERT_TRUE(std::isfinite(value));
  EXPECT_LT(distance(x, good), 0.1 * distance(training.start, good));
}

}  // namespace
}  // namespace gradwire
