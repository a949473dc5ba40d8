// What stays true of memories over many steps of noisy gradients that differ between workers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "gradwire/codec/test_support.h"
#include "gradwire/method/rate_unit.h"
#include "gradwire/method/training_test_support.h"

namespace gradwire {
namespace {

constexpr std::size_t kElements = 60;

// What all ranks have in common, what each has of its own, and noise. It does not follow the model:
// a mean that goes to zero would leave nothing to compare rounding errors with.
Model noisy_gradient(std::size_t rank, std::span<const float> /*x*/, std::uint64_t step) {
  static const Model common = gaussian(kElements, 99);
  const Model own = gaussian(kElements, rank);
  Model gradient = gaussian(kElements, 100 + 10 * step + rank);
  for (std::size_t i = 0; i < kElements; ++i) {
    gradient[i] = 0.1F * gradient[i] + own[i] + 2 * common[i];
  }
  return gradient;
}

// Where an exchange runs. A server is the last rank, so that workers count from 0 on.
struct Place {
  Topology topology = Topology::gather;
  std::size_t workers = 4;
  bool has_own_server = false;

  std::size_t ranks() const { return workers + (has_own_server ? 1 : 0); }
  std::string name() const {
    return gradwire::name(topology) + std::string(has_own_server ? ", dedicated" : "");
  }
};
constexpr Place kGather = {.topology = Topology::gather};
constexpr Place kScatter = {.topology = Topology::scatter};
constexpr Place kServer = {.topology = Topology::server};
constexpr Place kDedicated = {.topology = Topology::server, .has_own_server = true};
constexpr Place kRing = {.topology = Topology::ring};

const std::vector<float> kWeights = {0.25F, 1.75F, 0.5F, 1.5F};

Training noisy_training(const std::string& spec, const Place& place, std::size_t steps) {
  return {.spec = spec,
          .ranks = place.ranks(),
          .steps = steps,
          .learning_rates = {0.05},
          .start = Model(kElements),
          .gradient = noisy_gradient,
          .options = {.topology = place.topology,
                      .server = place.ranks() - 1,
                      .server_contributes = !place.has_own_server}};
}

// --- Shifts ---

// The mean over workers of their own memories.
std::vector<double> mean_of_memories(std::span<const MethodState> states, std::size_t workers,
                                     const std::string& name) {
  std::vector<double> mean(kElements);
  for (std::size_t rank = 0; rank < workers; ++rank) {
    const Model values = memory_of(states[rank], name);
    for (std::size_t i = 0; i < kElements; ++i) mean[i] += values[i] / double(workers);
  }
  return mean;
}

// What owners hold, together; or what all ranks hold, once.
Model held_for_all(std::span<const MethodState> states, const std::string& name) {
  Model held = memory_of(states[0], name);
  for (std::size_t rank = 1; rank < states.size(); ++rank) {
    const Model more = memory_of(states[rank], name);
    const auto is_owners = [&](const StateArray& array) {
      return array.memory == name && array.sharing == Sharing::owner;
    };
    if (std::ranges::none_of(states[rank].arrays, is_owners)) continue;
    for (std::size_t i = 0; i < kElements; ++i) held[i] += more[i];
  }
  return held;
}

// Relative to the norm of the mean. Full-precision values make a random walk of rounding errors:
// for ef21 and randk 3,000 steps bring it to 0.8e-6 to 0.95e-6 here, and more noise would bring it
// above 1e-6. With natural it is 0.1e-6 at most.
void expect_shifts_agree(const std::string& spec, const Place& place,
                         std::vector<float> weights = {}) {
  SCOPED_TRACE(spec + ", " + place.name());
  Training training = noisy_training(spec, place, 3000);
  training.weights = std::move(weights);
  const TrainingResult result = train(training);
  const auto mean = mean_of_memories(result.states, place.workers, "shift");
  const Model held = held_for_all(result.states, "mean shift");
  double distance = 0, size = 0;
  for (std::size_t i = 0; i < kElements; ++i) {
    distance += (held[i] - mean[i]) * (held[i] - mean[i]);
    size += mean[i] * mean[i];
  }
  EXPECT_GT(size, 0.1);
  EXPECT_LT(std::sqrt(distance / size), 1e-6);
}

TEST(ShiftInvariantThreads, HoldsInAGather) {
  expect_shifts_agree("diana(natural)", kGather);
  expect_shifts_agree("ef21(topk(10%))", kGather);
}

TEST(ShiftInvariantThreads, HoldsWithAnExactDownlink) {
  for (const Place& place : {kScatter, kServer, kDedicated}) {
    expect_shifts_agree("diana(natural)", place);
    expect_shifts_agree("ef21(topk(10%), down=none)", place);
  }
}

TEST(ShiftInvariantThreads, HoldsWithARoundedDownlink) {
  for (const Place& place : {kScatter, kServer, kDedicated}) {
    expect_shifts_agree("diana(natural, down=natural)", place);
    expect_shifts_agree("ef21(topk(10%), down=natural)", place);
  }
}

TEST(ShiftInvariantThreads, HoldsInARing) {
  expect_shifts_agree("diana(randk(25%, seed=shared))", kRing);
  expect_shifts_agree("ef21(randk(25%, seed=shared))", kRing);
}

TEST(ShiftInvariantThreads, HoldsWithWorkersOfDifferentWeight) {
  expect_shifts_agree("diana(natural)", kScatter, kWeights);
  expect_shifts_agree("diana(natural, down=natural)", kScatter, kWeights);
  expect_shifts_agree("ef21(topk(10%), down=natural)", kServer, kWeights);
}

// --- Errors ---

// What ef was given in one step and what it left, by rank.
struct EfStep {
  explicit EfStep(std::size_t ranks) : given(ranks), kept(ranks), owed(ranks) {}

  // mean e_i + e_o
  double remembered(std::size_t workers, std::size_t element) const {
    double sum = 0;
    for (const Model& error : kept) sum += error[element] / double(workers);
    for (const Model& error : owed) sum += error[element];
    return sum;
  }

  std::vector<Model> given;  // weight g
  std::vector<Model> kept;   // e after the step
  std::vector<Model> owed;   // owners' errors after the step
  Model output;
};

std::vector<EfStep> ef_steps(Training& training) {
  std::vector<EfStep> steps(training.steps, EfStep(training.ranks));
  training.on_step = [&](const TrainingStep& at) {
    EfStep& step = steps[at.step];
    const MethodState state = at.method.save();
    const float weight = training.weights.empty() ? 1.0F : training.weights[at.rank];
    step.given[at.rank] = at.gradient;
    for (float& value : step.given[at.rank]) value *= weight;
    step.kept[at.rank] = memory_of(state, "error");
    step.owed[at.rank] = memory_of(state, "downlink error");
    if (at.rank == 0) step.output = at.output;
  };
  train(training);
  return steps;
}

// gamma_old / gamma, within the limits of growth. Steps at a rate of 0 change nothing.
double memory_factor(const std::vector<double>& rates, std::size_t step) {
  const auto rate_at = [&](std::size_t t) { return rates[std::min(t, rates.size() - 1)]; };
  double rate = 0;
  double growth = 1;
  double factor = 1;
  for (std::size_t t = 0; t <= step; ++t) {
    const double before = growth;
    if (rate > 0 && rate_at(t) > 0) {
      growth = std::max(1.0, std::min(growth * rate / rate_at(t), ErrorUnit::kGrowthMax));
    }
    rate = rate_at(t) > 0 ? rate_at(t) : rate;
    factor = growth / before;
  }
  return factor;
}

// In every step: mean weight_i g_i + factor (mean e_i + e_o) = out + (mean e_i + e_o)'.
void expect_conserved(const std::string& spec, const Place& place,
                      const std::vector<double>& rates = {0.05}, std::vector<float> weights = {}) {
  SCOPED_TRACE(spec + ", " + place.name());
  Training training = noisy_training(spec, place, 60);
  training.learning_rates = rates;
  training.weights = std::move(weights);
  const std::vector<EfStep> steps = ef_steps(training);
  for (std::size_t t = 0; t < steps.size(); ++t) {
    for (std::size_t i = 0; i < kElements; ++i) {
      const double old = t == 0 ? 0 : steps[t - 1].remembered(place.workers, i);
      double before = memory_factor(rates, t) * old;
      for (std::size_t rank = 0; rank < place.workers; ++rank) {
        before += steps[t].given[rank][i] / double(place.workers);
      }
      const double after = steps[t].output[i] + steps[t].remembered(place.workers, i);
      ASSERT_NEAR(after, before, 1e-6 * (1 + std::abs(before))) << "step " << t;
    }
  }
}

TEST(ErrorConservationThreads, HoldsWithAnExactDownlink) {
  for (const Place& place : {kGather, kScatter, kServer, kDedicated}) {
    expect_conserved("ef(topk(10%), down=none)", place);
    expect_conserved("ef(qsgd(bits=2, norm=l2, bucket=20), down=none)", place);
  }
  expect_conserved("ef(randk(25%, seed=shared))", kRing);
  expect_conserved("ef(topk(10%), down=none)", kScatter, {0.05}, kWeights);
}

TEST(ErrorConservationThreads, HoldsWithTheOwnersErrorsWhereTheDownlinkIsRounded) {
  for (const Place& place : {kScatter, kServer, kDedicated}) {
    expect_conserved("ef(topk(10%))", place);
    expect_conserved("ef(topk(10%), down=natural)", place);
    expect_conserved("ef(topk(10%), down=randk(25%))", place);
  }
}

// The error's share of an update, gamma e, stays as gamma falls and rises again, within the limit.
TEST(ErrorConservationThreads, HoldsInUpdatesWhenTheLearningRateFalls) {
  const std::vector<double> rates = {0.05, 0.05, 0.05, 0.02, 0.02, 0.04, 0.04, 0.0125};
  for (std::size_t t = 1; t < rates.size(); ++t) {
    ASSERT_NEAR(memory_factor(rates, t), rates[t - 1] / rates[t], 1e-12);
  }
  expect_conserved("ef(topk(10%), down=none)", kGather, rates);
  expect_conserved("ef(topk(10%), down=topk(20%))", kScatter, rates);
}

// A rise above the old rates, or a fall beyond the limit: nothing is lost in units of the gradient.
TEST(ErrorConservationThreads, HoldsInGradientsBeyondTheLimits) {
  const std::vector<double> rates = {0.05, 0.05, 0.08, 0.8, 0.001, 0.001, 0.0001, 1.0};
  EXPECT_EQ(memory_factor(rates, 3), 1);
  EXPECT_EQ(memory_factor(rates, 4), ErrorUnit::kGrowthMax);
  EXPECT_EQ(memory_factor(rates, 6), 1);
  EXPECT_EQ(memory_factor(rates, 7), 1 / ErrorUnit::kGrowthMax);
  expect_conserved("ef(topk(10%), down=none)", kGather, rates);
  expect_conserved("ef(topk(10%), down=topk(20%))", kScatter, rates);
}

TEST(ErrorConservationThreads, ALearningRateOfZeroDoesNoHarm) {
  for (const std::vector<double>& rates :
       {std::vector<double>{0, 0.05}, {0.05, 0.05, 0, 0, 0.02}, {0.05, 0.05, 0}}) {
    expect_conserved("ef(topk(10%), down=none)", kGather, rates);
    expect_conserved("ef(topk(10%), down=topk(20%))", kScatter, rates);
  }
}

// With alpha = 0 the shifts stay zero: DIANA is then 1-level QSGD for the l2 norm, and TernGrad for
// the largest magnitude.
TEST(InvariantThreads, DianaWithoutShiftsIsItsCodec) {
  static constexpr std::size_t kLength = 700;
  const auto run = [&](const std::string& spec) {
    return train({.spec = spec,
                  .ranks = 3,
                  .steps = 20,
                  .learning_rates = {0.1},
                  .start = Model(kLength, 1.0F),
                  .gradient =
                      [](std::size_t rank, std::span<const float> x, std::uint64_t step) {
                        Model gradient = gaussian(kLength, 100 * step + rank);
                        for (std::size_t i = 0; i < x.size(); ++i) gradient[i] += x[i];
                        return gradient;
                      },
                  .options = {.topology = Topology::gather, .seed = 4}})
        .iterates;
  };
  for (const std::string codec : {"qsgd(bits=2, norm=l2)", "terngrad(clip=off)", "natural"}) {
    EXPECT_EQ(run("diana(" + codec + ", alpha=0)"), run("direct(" + codec + ", down=none)"))
        << codec;
    EXPECT_NE(run("diana(" + codec + ")"), run("direct(" + codec + ", down=none)")) << codec;
  }
}

// signSGD with majority vote: every worker sends the signs of its gradient, and all get the sign of
// their sum. An odd number of workers has no ties.
TEST(InvariantThreads, SignsgdIsTheMajorityVote) {
  static constexpr std::size_t kLength = 300;
  constexpr std::size_t kVoters = 3;
  const auto gradient = [](std::size_t rank, std::span<const float>, std::uint64_t step) {
    return gaussian(kLength, 100 * step + rank);
  };
  for (const Topology topology : {Topology::scatter, Topology::server}) {
    Training training{.spec = "signsgd",
                      .ranks = kVoters,
                      .steps = 5,
                      .learning_rates = {0.1},
                      .start = Model(kLength),
                      .gradient = gradient,
                      .options = {.topology = topology}};
    training.on_step = [&](const TrainingStep& step) {
      for (std::size_t i = 0; i < kLength; ++i) {
        int votes = 0;
        for (std::size_t rank = 0; rank < kVoters; ++rank) {
          votes += std::signbit(gradient(rank, step.x, step.step)[i]) ? -1 : 1;
        }
        ASSERT_EQ(step.output[i], votes > 0 ? 1.0F : -1.0F) << i;
      }
    };
    train(training);
  }
}

}  // namespace
}  // namespace gradwire
