// adam(...) against references that are written as the equations are.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "gradwire/codec/test_support.h"
#include "gradwire/core/error.h"
#include "gradwire/method/parsed_method.h"
#include "gradwire/method/quadratic_test_support.h"
#include "gradwire/method/training_test_support.h"
#include "gradwire/method/workload_test_support.h"

namespace gradwire {
namespace {

constexpr std::size_t kRanks = 4;
constexpr double kRate = 0.01;

const Quadratics& problem() {
  static const Quadratics quadratics({.workers = kRanks});
  return quadratics;
}

Training on_quadratics(const std::string& spec, std::size_t steps, Topology topology) {
  return {.spec = spec,
          .ranks = kRanks,
          .steps = steps,
          .learning_rates = {kRate},
          .start = Model(problem().elements(), 3.0F),
          .gradient = [](std::size_t rank, std::span<const float> x,
                         std::uint64_t) { return problem().gradient(rank, x); },
          .options = {.topology = topology}};
}

double distance(std::span<const float> a, const Eigen::VectorXd& b) {
  return (Quadratics::to_vector(a) - b).norm();
}

// --- The warm-up ---

// AdamW in floats, by the exact mean that a gather forms in the order of the ranks.
Model adamw(std::size_t steps, float decay) {
  Model x(problem().elements(), 3.0F), m(x.size()), v(x.size());
  double b1_power = 1, b2_power = 1;
  for (std::size_t step = 0; step < steps; ++step) {
    Model mean(x.size());
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      const Model gradient = problem().gradient(rank, x);
      for (std::size_t i = 0; i < x.size(); ++i) mean[i] += gradient[i];
    }
    b1_power *= 0.9;
    b2_power *= 0.999;
    const auto rate = static_cast<float>(kRate / (1 - b1_power));
    const auto unbias = static_cast<float>(1 / std::sqrt(1 - b2_power));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float g = mean[i] * (1.0F / kRanks);
      m[i] = 0.9F * m[i] + (1 - 0.9F) * g;
      v[i] = 0.999F * v[i] + (1 - 0.999F) * g * g;
      const float update = rate * m[i] / (std::sqrt(v[i]) * unbias + 1e-8F);
      x[i] -= update + static_cast<float>(kRate * decay) * x[i];
    }
  }
  return x;
}

TEST(AdamThreads, TheWarmUpIsAdamwBitForBit) {
  for (const float decay : {0.0F, 0.01F, 0.25F}) {
    const std::string settings = decay == 0.01F ? "" : ", decay=" + std::to_string(decay);
    const Training training =
        on_quadratics("adam(sign, dense=none" + settings + ")", 30, Topology::gather);
    const Model expected = adamw(30, decay);
    const Model x = train(training).iterates.back();
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(x[i]), std::bit_cast<std::uint32_t>(expected[i])) << i;
    }
  }
}

// Where workers differ by noise alone, that of the codec adds 1.08 times to squares on average, and
// at most 9/8, by which they are divided.
TEST(AdamThreads, SquaresOfRoundedGradientsAreCorrected) {
  const auto squares = [](const std::string& spec) {
    Training training = on_quadratics(spec, 60, Topology::gather);
    training.gradient = [](std::size_t rank, std::span<const float> x, std::uint64_t step) {
      return gaussian(x.size(), 1 + 10 * step + rank);
    };
    double sum = 0;
    for (const float value : memory_of(train(training).states[0], "second moment")) {
      sum += double{value};
    }
    return sum;
  };
  const double ratio = squares("adam(sign, dense=natural)") / squares("adam(sign, dense=none)");
  EXPECT_GT(ratio, 0.93);
  EXPECT_LT(ratio, 0.99);
}

// --- Compressed steps, in double ---

struct Reference {
  Eigen::VectorXd x, m, v;
  std::vector<Eigen::VectorXd> errors;
};

Eigen::VectorXd signs(const Eigen::VectorXd& values) {
  const double scale = values.cwiseAbs().mean();
  return values.unaryExpr([&](double value) { return value < 0 ? -scale : scale; });
}

// 1-bit Adam with exact means while `is_dense(step)`.
template <class IsDense>
Reference one_bit_adam(std::size_t steps, bool sends_momentum, const IsDense& is_dense) {
  constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kEpsilon = 1e-8, kDecay = 0.01;
  const auto n = static_cast<Eigen::Index>(problem().elements());
  const Eigen::VectorXd zero = Eigen::VectorXd::Zero(n);
  Reference r{Eigen::VectorXd::Constant(n, 3), zero, zero, std::vector(kRanks, zero)};
  double updates = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    if (is_dense(step)) {
      ++updates;
      const Eigen::VectorXd g = problem().mean_gradient(r.x);
      r.m = kBeta1 * r.m + (1 - kBeta1) * g;
      r.v = kBeta2 * r.v + (1 - kBeta2) * g.cwiseProduct(g);
    }
    const Eigen::VectorXd d =
        ((r.v / (1 - std::pow(kBeta2, updates))).cwiseSqrt().array() + kEpsilon).matrix();
    if (!is_dense(step)) {
      Eigen::VectorXd mean = zero;
      for (std::size_t rank = 0; rank < kRanks; ++rank) {
        const Eigen::VectorXd g = problem().gradient(rank, r.x);
        const Eigen::VectorXd sent = sends_momentum ? kBeta1 * r.m + (1 - kBeta1) * g : g;
        const Eigen::VectorXd a = sent.cwiseQuotient(d) + r.errors[rank];
        const Eigen::VectorXd c = signs(a);
        r.errors[rank] = a - c;
        mean += c / double(kRanks);
      }
      const Eigen::VectorXd g = mean.cwiseProduct(d);
      r.m = sends_momentum ? g : Eigen::VectorXd(kBeta1 * r.m + (1 - kBeta1) * g);
    }
    const double bias = 1 - std::pow(kBeta1, double(step + 1));
    r.x -= kRate / bias * r.m.cwiseQuotient(d) + kRate * kDecay * r.x;
  }
  return r;
}

// Signs that are near zero may differ between float and double, so that the two part in the end.
void expect_as_reference(const std::string& options, std::size_t steps, const Reference& expected) {
  SCOPED_TRACE(options);
  const TrainingResult result = train(on_quadratics(
      "adam(sign, down=none, dense=none, " + options + ")", steps, Topology::scatter));
  EXPECT_LT(distance(result.iterates.back(), expected.x), 1e-4 * expected.x.norm());
  EXPECT_LT(distance(memory_of(result.states[0], "first moment"), expected.m),
            1e-3 * expected.m.norm());
  EXPECT_LT(distance(memory_of(result.states[0], "second moment"), expected.v),
            1e-4 * expected.v.norm());
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_LT(distance(memory_of(result.states[rank], "error"), expected.errors[rank]),
              1e-3 * expected.errors[rank].norm());
  }
}

TEST(AdamThreads, CompressedStepsFollowTheEquations) {
  const auto is_warm = [](std::size_t step) { return step < 20; };
  expect_as_reference("warmup=20, refresh=0", 40, one_bit_adam(40, true, is_warm));
  expect_as_reference("warmup=20, refresh=0, send=gradient", 40, one_bit_adam(40, false, is_warm));
}

TEST(AdamThreads, RefreshesUpdateTheSquaresAndKeepTheErrors) {
  const auto is_dense = [](std::size_t step) {
    return step < 20 || step == 20 || step == 21 || step == 23 || step == 27 || step == 31;
  };
  expect_as_reference("warmup=20, refresh=4", 34, one_bit_adam(34, true, is_dense));
}

// --- Invariants ---

// What was to be sent is what came, and what is still to be sent: mean a_i = mean c_i + mean e_i.
TEST(AdamThreads, NothingIsLostBetweenMomentumAndErrors) {
  for (const char* codec : {"sign", "topk(10%) | natural", "qsgd(bits=3)"}) {
    SCOPED_TRACE(codec);
    constexpr std::size_t kSteps = 25;
    std::vector<std::vector<Model>> gradients(kRanks, std::vector<Model>(kSteps));
    std::vector<std::vector<MethodState>> states(kRanks, std::vector<MethodState>(kSteps));
    Training training =
        on_quadratics("adam(" + std::string(codec) + ", down=none, warmup=10, refresh=0)", kSteps,
                      Topology::scatter);
    training.on_step = [&](const TrainingStep& step) {
      gradients[step.rank][step.step] = step.gradient;
      states[step.rank][step.step] = step.method.save();
    };
    train(training);
    for (std::size_t step = 11; step < kSteps; ++step) {
      const Model m = memory_of(states[0][step], "first moment");
      const Model before = memory_of(states[0][step - 1], "first moment");
      const Model v = memory_of(states[0][step], "second moment");
      for (std::size_t i = 0; i < m.size(); ++i) {
        const double bias = 1 - std::pow(0.999, 10);
        const double d = std::sqrt(double{v[i]} / bias) + 1e-8;
        double wanted = 0, kept = 0;
        for (std::size_t rank = 0; rank < kRanks; ++rank) {
          const double error = double{memory_of(states[rank][step - 1], "error")[i]};
          const double a = (0.9 * before[i] + 0.1 * gradients[rank][step][i]) / d + error;
          wanted += a / kRanks;
          kept += double{memory_of(states[rank][step], "error")[i]} / kRanks;
        }
        ASSERT_NEAR(m[i] / d + kept, wanted, 1e-4 * (1 + std::abs(wanted))) << step << ", " << i;
      }
    }
  }
}

TEST(AdamThreads, ConvergesOnQuadratics) {
  for (const char* spec :
       {"adam(sign, warmup=50, decay=0, beta2=0.99)",
        "adam(topk(10%) | natural, warmup=50, decay=0, beta2=0.99)",
        "adam(topk(10%) | natural, warmup=50, decay=0, beta2=0.99, send=gradient)",
        "adam(natural | entropy, decay=0, beta2=0.99)"}) {
    SCOPED_TRACE(spec);
    Training training = on_quadratics(spec, 1500, Topology::automatic);
    training.learning_rates.clear();
    for (std::size_t i = 0; i < 1500; ++i)
      training.learning_rates.push_back(0.1 / (1 + double(i) / 50));
    const TrainingResult result = train(training);
    EXPECT_LT(problem().excess(result.iterates.back()), 1e-3 * problem().excess(training.start));
  }
}

TEST(AdamThreads, AnElementWithoutGradientsHardlyMoves) {
  Training training = on_quadratics("adam(sign, warmup=20, decay=0)", 200, Topology::automatic);
  training.gradient = [](std::size_t rank, std::span<const float> x, std::uint64_t) {
    Model gradient = problem().gradient(rank, x);
    gradient[7] = 0;
    return gradient;
  };
  const Model x = train(training).iterates.back();
  EXPECT_NEAR(x[7], 3, 2 * kRate);
}

// Its mean squares are zero, so that nothing but the limit keeps its first gradients small, and
// with them the scale that all elements share.
TEST(AdamThreads, AnElementThatWakesUpAfterTheWarmUpHarmsNobody) {
  Training training = on_quadratics("adam(sign, warmup=20, refresh=0, decay=0, beta2=0.9)", 60,
                                    Topology::automatic);
  training.gradient = [](std::size_t rank, std::span<const float> x, std::uint64_t step) {
    Model gradient = problem().gradient(rank, x);
    if (step < 30) gradient[7] = 0;
    return gradient;
  };
  const TrainingResult result = train(training);
  for (std::size_t step = 30; step < 60; ++step) {
    for (std::size_t i = 0; i < result.iterates[0].size(); ++i) {
      ASSERT_LT(std::abs(result.iterates[step + 1][i] - result.iterates[step][i]), 10 * kRate);
    }
  }
}

// --- Clipping ---

TEST(AdamThreads, ClippingLimitsTheNormOfTheMean) {
  const auto first_moment = [](const std::string& options) {
    Training training = on_quadratics("adam(sign, " + options + ")", 1, Topology::gather);
    return Quadratics::to_vector(memory_of(train(training).states[0], "first moment"));
  };
  const double norm = first_moment("dense=none").norm();
  EXPECT_GT(norm, 0.5);
  EXPECT_NEAR(first_moment("dense=none, clip=0.5").norm(), 0.1 * 0.5, 1e-5);
  EXPECT_EQ(first_moment("dense=none, clip=1000").norm(), norm);
}

TEST(AdamThreads, InCompressedStepsAGradientOfUnusualLengthIsClipped) {
  const auto last_x = [](float factor, const std::string& clip) {
    Training training =
        on_quadratics("adam(none, warmup=20, refresh=0" + clip + ")", 25, Topology::gather);
    training.gradient = [factor](std::size_t rank, std::span<const float> x, std::uint64_t step) {
      Model gradient = problem().gradient(rank, x);
      for (float& slope : gradient) slope *= step == 24 ? factor : 1;
      return gradient;
    };
    return Quadratics::to_vector(train(training).iterates.back());
  };
  const Eigen::VectorXd usual = last_x(1, ""), far = last_x(1000, "");
  const Eigen::VectorXd clipped = last_x(1000, ", clip=100");
  EXPECT_GT((far - usual).norm(), 10 * (clipped - usual).norm());
}

// --- Settings, scales, states ---

TEST(AdamThreads, ATrainersSettingsReplaceThoseOfTheSpec) {
  Training given = on_quadratics("adam(sign, warmup=5)", 12, Topology::gather);
  given.options.moments = {{.beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-6, .decay = 0.1}};
  const Training written = on_quadratics(
      "adam(sign, warmup=5, beta1=0.8, beta2=0.95, epsilon=1e-6, decay=0.1)", 12, Topology::gather);
  EXPECT_EQ(train(given).iterates.back(), train(written).iterates.back());
}

TEST(AdamThreads, WrongSettingsAreRefused) {
  run_communicators(1, [](Communicator& communicator) {
    const auto make = [&](std::vector<MomentSettings> moments) {
      MethodOptions options;
      options.moments = std::move(moments);
      make_method(communicator, {{"a", {3}}}, "adam(sign)", options);
    };
    EXPECT_THROW(make({{}, {}}), Error);
    EXPECT_THROW(make({{.beta1 = 1}}), Error);
    EXPECT_THROW(make({{.decay = -1}}), Error);
    make({{.beta2 = 0.5}});
  });
}

TEST(AdamThreads, WithoutDecayItNeedsNoParameters) {
  EXPECT_TRUE(parse_method("adam(sign)").traits.needs_parameters);
  EXPECT_FALSE(parse_method("adam(sign, decay=0)").traits.needs_parameters);
  run_communicators(1, [](Communicator& communicator) {
    std::vector<float> a = {1, 2, 3};
    const std::vector<std::span<float>> gradients = {a};
    MethodOptions options;
    options.moments = {{.decay = 0}};
    const auto method = make_method(communicator, {{"a", {3}}}, "adam(sign)", options);
    EXPECT_FALSE(method->traits().needs_parameters);
    method->run({}, gradients);
    EXPECT_THROW(make_method(communicator, {{"a", {3}}}, "adam(sign)", {})->begin({}), Error);
  });
}

// A loss scale that doubles changes no update, but for epsilon's part in it.
TEST(AdamThreads, RescalingFollowsTheLossScale) {
  const auto run = [](std::size_t rescaled_at) {
    Model x;
    run_communicators(2, [&](Communicator& communicator) {
      const auto method = make_method(communicator, {{"x", {16}}},
                                      "adam(sign, warmup=4, decay=0, epsilon=1e-30)", {});
      Model output(16);
      float scale = 1;
      for (std::uint64_t step = 0; step < 12; ++step) {
        if (step == rescaled_at) {
          scale = 4;
          method->rescale(scale);
        }
        output = gaussian(16, 10 * step + communicator.rank());
        for (float& value : output) value *= scale;
        const std::span<float> gradients[] = {output};
        method->run({.step = step, .learning_rate = 0.1}, gradients);
      }
      if (communicator.rank() == 0) x = output;
    });
    return x;
  };
  const Model unscaled = run(100);
  EXPECT_EQ(run(2), unscaled);
  EXPECT_EQ(run(8), unscaled);
}

// Every rank saves in the warm-up, in a compressed step and in a refresh, and goes on from there.
TEST(AdamThreads, ResumedInAnyPhaseItGoesOnToTheBit) {
  const std::string spec = "adam(topk(10%) | natural, warmup=6, refresh=4)";
  std::vector<std::vector<MethodState>> states(3, std::vector<MethodState>(20));
  using TestModel = std::vector<std::vector<float>>;
  std::vector<std::vector<TestModel>> models(3, std::vector<TestModel>(20));
  run_communicators(3, [&](Communicator& communicator) {
    TestWorker worker(communicator, spec, {.seed = 3});
    for (std::uint64_t step = 0; step < 20; ++step) {
      states[communicator.rank()][step] = worker.method().save();
      models[communicator.rank()][step] = worker.model();
      worker.step(step);
    }
    const auto last = worker.model();
    for (std::uint64_t cut = 1; cut < 20; ++cut) {
      TestWorker resumed(communicator, spec, {.seed = 3});
      resumed.method().load(states[communicator.rank()][cut]);
      resumed.set_model(models[communicator.rank()][cut]);
      for (std::uint64_t step = cut; step < 20; ++step) resumed.step(step);
      EXPECT_EQ(resumed.model(), last) << cut;
    }
  });
}

TEST(AdamThreads, APoisonedGroupOfACompressedStepLeavesTheOthersWithTheirMomentum) {
  run_communicators(2, [&](Communicator& communicator) {
    TestWorker worker(communicator, "adam(sign, warmup=1, refresh=0)", {.group_elements = 1000});
    worker.step(0);
    worker.step(1);
    const MethodState before = worker.method().save();
    EXPECT_EQ(worker.step(2, communicator.rank() == 1).poisoned, 1u);
    const MethodState after = worker.method().save();
    const auto moved = [&](const char* memory, const char* tensor) {
      return !(*find_array(before, memory, tensor) == *find_array(after, memory, tensor));
    };
    EXPECT_FALSE(moved("first moment", "w1"));
    EXPECT_FALSE(moved("error", "w1"));
    EXPECT_TRUE(moved("first moment", "b1"));
    EXPECT_TRUE(moved("error", "b1"));
  });
}

TEST(AdamThreads, APoisonedGroupOfAWarmUpStepStopsTheWholeStep) {
  run_communicators(2, [&](Communicator& communicator) {
    TestWorker worker(communicator, "adam(sign)", {.group_elements = 1000});
    worker.step(0);
    const MethodState before = worker.method().save();
    EXPECT_GT(worker.step(1, communicator.rank() == 1).poisoned, 0u);
    EXPECT_EQ(worker.method().save(), before);
    for (const auto& output : worker.output()) {
      for (const float value : output) EXPECT_TRUE(std::isnan(value));
    }
  });
}

// --- Specs ---

TEST(Adam, SpecsAreCanonical) {
  for (const char* spec :
       {"adam(sign)", "adam(sign, down=none)", "adam(topk(1%) | natural, send=gradient)",
        "adam(sign, warmup=100, refresh=50, dense=none, clip=1, beta1=0.8, decay=0.1)",
        "adam(powersgd(rank=4))", "adam(lgreco(topk))", "adam(ef21(topk(1%)))"}) {
    EXPECT_EQ(parse_method(spec).spec, spec);
  }
  EXPECT_EQ(parse_method("adam(sign, warmup=auto, refresh=auto, dense=natural | entropy, clip=off, "
                         "beta2=0.999)")
                .spec,
            "adam(sign)");
}

TEST(Adam, WhatDoesNotFitInsideIsRefused) {
  for (const char* spec :
       {"adam", "adam(1)", "adam(sign(scale=off))", "adam(dgc(1%))", "adam(sasg(topk(1%)))",
        "adam(adam(sign))", "adam(direct(sign))", "adam(powersgd(rank=4), down=none)",
        "adam(sign, dense=sign)", "adam(sign, dense=qsgd(bits=2))", "adam(sign, warmup=0)",
        "adam(sign, warmup=1.5)", "adam(sign, beta1=1)", "adam(sign, clip=-1)", "adam(sing)"}) {
    EXPECT_THROW(parse_method(spec), SpecError) << spec;
  }
}

}  // namespace
}  // namespace gradwire
