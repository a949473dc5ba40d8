// Claims about lasg and sasg: how many uploads they save, and when a worker must not skip its own.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <mutex>

#include "gradwire/method/lazy_test_support.h"
#include "gradwire/method/quadratic_test_support.h"
#include "gradwire/method/training_test_support.h"
#include "gradwire/wire/frame.h"

namespace gradwire {
namespace {

// --- What is saved in training ---

constexpr std::size_t kWorkers = 10;
constexpr std::size_t kBatch = 10;

const std::vector<Digit>& digits() {
  static const std::vector<Digit> all = generated_digits(2000, 0.8F, 1);
  return all;
}

// Digits are dealt to workers in turns of one digit of each class.
const Digit& digit_of(std::size_t rank, std::uint32_t number) {
  const std::size_t turns = digits().size() / kWorkers / kClasses;
  const std::size_t turn = number / kClasses % turns;
  return digits()[(turn * kWorkers + rank) * kClasses + number % kClasses];
}

Model batch_gradient(std::size_t rank, std::span<const float> x, std::uint64_t step) {
  const RandomStream random = Rng{.seed = 3,
                                  .step = step,
                                  .rank = static_cast<std::uint32_t>(rank),
                                  .purpose = Purpose::data}
                                  .stream(0, 0);
  Model gradient(DigitNetwork::kElements);
  for (std::uint32_t i = 0; i < kBatch; ++i) {
    const Digit& digit = digit_of(rank, random.at(i) >> 8);
    DigitNetwork::learn(x, digit, 1.0F / kBatch, gradient);
  }
  return gradient;
}

double full_loss(std::span<const float> x) {
  double sum = 0;
  for (const Digit& digit : digits()) sum += DigitNetwork::learn(x, digit, 0, {});
  return sum / static_cast<double>(digits().size());
}

struct Reached {
  std::size_t steps = 0;
  std::size_t uploads = 0;
};

// Until the loss of all digits, looked at every 20 steps, has come down to `goal`.
Reached train_network(const std::string& spec, double goal) {
  const TrainingResult result = train({.spec = spec,
                                       .ranks = kWorkers,
                                       .steps = 500,
                                       .learning_rates = {0.05},
                                       .start = DigitNetwork::start(2),
                                       .gradient = batch_gradient});
  for (std::size_t step = 0; step < result.iterates.size(); step += 20) {
    if (full_loss(result.iterates[step]) <= goal) return {step, result.uploads(0, step)};
  }
  ADD_FAILURE() << spec << " ended at " << full_loss(result.iterates.back());
  return {};
}

TEST(LazyThreads, SparseLazyUploadsAreLessThanHalf) {
  constexpr double kGoal = 0.1;
  const Reached sparse = train_network("ef(topk(1%), down=none)", kGoal);
  const Reached lazy = train_network("lasg(none, window=10, delay=10)", kGoal);
  const Reached both = train_network("sasg(topk(1%), window=10, delay=10)", kGoal);
  EXPECT_EQ(sparse.uploads, kWorkers * sparse.steps);
  EXPECT_LT(both.uploads, lazy.uploads);
  EXPECT_LT(lazy.uploads, sparse.uploads);
  EXPECT_LE(2 * both.uploads, sparse.uploads);
}

// --- When a worker skips ---

constexpr std::size_t kElements = 100;

// A gradient that never changes: nothing speaks against skipping.
Model constant_gradient(std::size_t rank, std::span<const float> /*x*/, std::uint64_t /*step*/) {
  return gaussian(kElements, rank);
}

Training constant_training(const std::string& spec, Topology topology = Topology::automatic) {
  return {.spec = spec,
          .ranks = 3,
          .steps = 40,
          .learning_rates = {0.1},
          .start = Model(kElements),
          .gradient = constant_gradient,
          .options = {.topology = topology}};
}

// Age 1 is the step after an upload; the ages 1 to `delay` may be skipped.
TEST(LazyThreads, UploadsInTheFirstWindowAndThenOnceInDelayPlusOneSteps) {
  for (const std::string method : {"lasg(none", "sasg(topk(10%)"}) {
    const TrainingResult result = train(constant_training(method + ", window=5, delay=3)"));
    for (const auto& reports : result.reports) {
      for (std::size_t step = 0; step < reports.size(); ++step) {
        const bool uploads = step < 5 || (step - 4) % 4 == 0;
        EXPECT_EQ(reports[step].uploads, uploads ? 1u : 0u) << method << ", step " << step;
        EXPECT_EQ(reports[step].uploads_skipped, uploads ? 0u : 1u) << method;
      }
    }
  }
}

// One to each rank that has to be told: in a gather one message is for all, a server tells itself
// nothing, and in a scatter every other rank is an owner.
TEST(LazyThreads, ASkippedUploadIsAFrameHeaderForEveryOwner) {
  const auto headers = [](Topology topology, std::size_t rank) -> std::size_t {
    if (topology == Topology::scatter) return 2;
    return topology == Topology::server && rank == 0 ? 0 : 1;
  };
  EXPECT_EQ(kFrameHeaderBytes, 80u);
  for (const Topology topology : {Topology::gather, Topology::server, Topology::scatter}) {
    const TrainingResult result = train(constant_training("sasg(topk(10%))", topology));
    EXPECT_LT(result.uploads(0, 40), 3 * 40u);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      for (const MethodReport& report : result.reports[rank]) {
        if (report.uploads > 0) continue;
        EXPECT_EQ(report.traffic.message_bytes, headers(topology, rank) * kFrameHeaderBytes)
            << name(topology) << ", rank " << rank;
      }
    }
  }
}

TEST(LazyThreads, ANanInTheOldGradientMakesItUpload) {
  Training training = constant_training("lasg(none)");
  training.old_gradient = [](std::size_t rank, std::span<const float> x, std::uint64_t step) {
    Model gradient = constant_gradient(rank, x, step);
    if (rank == 1) gradient[7] = std::numeric_limits<float>::quiet_NaN();
    return gradient;
  };
  const TrainingResult result = train(training);
  for (std::size_t step = 0; step < training.steps; ++step) {
    EXPECT_EQ(result.reports[1][step].uploads, 1u) << "step " << step;
    EXPECT_EQ(result.reports[1][step].poisoned, 0u);
  }
  EXPECT_EQ(result.reports[0][12].uploads, 0u);
}

// --- As the authors of SASG have it ---
//
// Their notebook for MNIST has M = 10 workers, gamma = 0.005, and adds up the uploads:
//   p_m = gamma g_m + e_m;  w -= sum_m u_m;
//   skip if |g - g_old|^2 <= (1/M^2) sum_{d=1..9} (1/(2 gamma)) |w^(k+1-d) - w^(k-d)|^2.
// Here uploads are averaged: w -= gamma' mean u with the same w for gamma' = M gamma = 0.05.
// Gradients and movements of the model are then the same numbers on both sides of the inequality,
// so that the weight is the same number: a_d = 1/(2 gamma) = M/(2 gamma') = 100, over a window
// of 9. The default, N/gamma' = 200 over 10, allows 2.2 times as much.

TEST(LazyThreads, TheAuthorsRuleIsAWindowOf9AndAWeightOf100) {
  constexpr std::size_t kSteps = 120;
  constexpr double kTheirRate = 0.005;
  const Quadratics quadratics({.workers = kWorkers, .elements = 24, .smoothness = 4});
  const auto n = static_cast<Eigen::Index>(quadratics.elements());
  // As theirs, in double, without sparsification.
  std::vector<std::vector<bool>> uploads(kWorkers);
  {
    Eigen::VectorXd w = Eigen::VectorXd::Constant(n, 3);
    std::vector<Eigen::VectorXd> at(kWorkers, w);
    std::vector<Eigen::VectorXd> last(kWorkers, Eigen::VectorXd::Zero(n));
    std::vector<std::size_t> age(kWorkers, 100);
    std::vector<double> moves;
    for (std::size_t step = 0; step < kSteps; ++step) {
      double movement = 0;
      for (std::size_t d = 1; d <= std::min<std::size_t>(9, moves.size()); ++d) {
        movement += 1 / (2 * kTheirRate) * moves[moves.size() - d];
      }
      Eigen::VectorXd sum = Eigen::VectorXd::Zero(n);
      for (std::size_t m = 0; m < kWorkers; ++m) {
        const Eigen::VectorXd g = quadratics.gradient(m, w);
        const double change = (g - quadratics.gradient(m, at[m])).squaredNorm();
        const bool skips =
            step >= 9 && age[m] <= 10 && change <= movement / double{kWorkers} / double{kWorkers};
        uploads[m].push_back(!skips);
        ++age[m];
        if (!skips) {
          last[m] = kTheirRate * g;
          at[m] = w;
          age[m] = 1;
        }
        sum += last[m];
      }
      moves.push_back(sum.squaredNorm());
      w -= sum;
    }
  }
  const TrainingResult result =
      train({.spec = "lasg(none, window=9, weight=100)",
             .ranks = kWorkers,
             .steps = kSteps,
             .learning_rates = {kWorkers * kTheirRate},
             .start = Model(quadratics.elements(), 3.0F),
             .gradient = [&](std::size_t rank, std::span<const float> x, std::uint64_t) {
               return quadratics.gradient(rank, x);
             }});
  std::size_t skipped = 0;
  for (std::size_t m = 0; m < kWorkers; ++m) {
    for (std::size_t step = 0; step < kSteps; ++step) {
      EXPECT_EQ(result.reports[m][step].uploads, uploads[m][step] ? 1u : 0u) << m << ' ' << step;
      skipped += uploads[m][step] ? 0 : 1;
    }
  }
  EXPECT_GT(skipped, kWorkers * kSteps / 4);
  EXPECT_LT(skipped, kWorkers * kSteps * 95 / 100);
}

// --- With a rounded downlink ---

TEST(LazyThreads, WhatDoesNotGoDownStaysWithItsOwner) {
  constexpr std::size_t kSteps = 8;  // all upload in the first 10
  Training training = constant_training("lasg(none, down=topk(10%))", Topology::scatter);
  training.steps = kSteps;
  std::vector<double> wanted(training.start.size());
  std::mutex mutex;
  training.on_step = [&](const TrainingStep& step) {
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      wanted[i] += training.learning_rates[0] * double{step.gradient[i]} /
                   static_cast<double>(training.ranks);
    }
  };
  const TrainingResult result = train(training);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    double moved = double{training.start[i]} - double{result.iterates.back()[i]};
    for (const MethodState& state : result.states) {
      moved += double{memory_of(state, "downlink error")[i]};
    }
    EXPECT_NEAR(moved, wanted[i], 1e-5 * (1 + std::fabs(wanted[i]))) << i;
  }
}

TEST(LazyThreads, ASparseDownlinkSendsLessAndLearns) {
  constexpr double kGoal = 0.1;
  const auto bytes = [&](const std::string& spec) {
    const TrainingResult result = train({.spec = spec,
                                         .ranks = kWorkers,
                                         .steps = 500,
                                         .learning_rates = {0.05},
                                         .start = DigitNetwork::start(2),
                                         .gradient = batch_gradient,
                                         .options = {.topology = Topology::scatter}});
    EXPECT_LE(full_loss(result.iterates.back()), kGoal) << spec;
    std::uint64_t sent = 0;
    for (const auto& of_rank : result.reports) {
      for (const MethodReport& report : of_rank) sent += report.traffic.bytes_sent;
    }
    return sent;
  };
  EXPECT_LT(2 * bytes("sasg(topk(1%), down=topk(10%))"), bytes("sasg(topk(1%))"));
}

// --- Without a second gradient ---

TEST(LazyThreads, TheServersRuleSkipsAndConverges) {
  const Quadratics quadratics({});
  for (const char* spec : {"lasg(none, rule=server)", "lasg(none, rule=server, smoothness=8)"}) {
    const TrainingResult result =
        train({.spec = spec,
               .ranks = quadratics.workers(),
               .steps = 500,
               .learning_rates = {0.5 / quadratics.smoothness()},
               .start = Model(quadratics.elements(), 3.0F),
               .gradient = [&](std::size_t rank, std::span<const float> x, std::uint64_t) {
                 return quadratics.gradient(rank, x);
               }});
    const double start = quadratics.excess(result.iterates.front());
    EXPECT_LT(quadratics.excess(result.iterates.back()), 1e-10 * start) << spec;
    EXPECT_LT(result.uploads(0, 500), 4 * 500) << spec;
  }
}

}  // namespace
}  // namespace gradwire
