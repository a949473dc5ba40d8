#include "gradwire/method/powersgd/powersgd.h"

#include <cmath>
#include <limits>

#include "gradwire/collective/test_support.h"
#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gradwire/method/powersgd/powersgd_test_support.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

TEST(PowerSgdThreads, AMeanOfLowRankIsRecovered) {
  // Each rank's gradient has rank 1, so that the mean of 3 has at most rank 3.
  constexpr std::size_t kRows = 12;
  constexpr std::size_t kColumns = 40;
  run_communicators(3, [](Communicator& communicator) {
    const auto method =
        make_powersgd(communicator, {{"w", {kRows, 8, 5}}}, {.rank = 4}, {.seed = 1});
    std::vector<double> mean(kRows * kColumns);
    Gradients gradients(method_elements({{"w", {kRows, 8, 5}}}));
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const auto column = rank_values(rank, 0, kRows);
      const auto row = rank_values(rank, 1, kColumns);
      for (std::size_t i = 0; i < mean.size(); ++i) {
        const float value = column[i / kColumns] * row[i % kColumns];
        mean[i] += double{value} / 3;
        if (rank == communicator.rank()) gradients.values[0][i] = value;
      }
    }
    method->run({}, gradients.spans);
    for (std::size_t i = 0; i < mean.size(); ++i) {
      EXPECT_NEAR(gradients.values[0][i], mean[i], 1e-6);
    }
  });
}

// mean M_i = out + mean e_i, at every step: what is not sent is remembered.
TEST(PowerSgdThreads, NothingIsLost) {
  constexpr std::size_t kRanks = 3;
  for (const Topology topology : {Topology::ring, Topology::scatter, Topology::gather}) {
    std::vector<std::vector<float>> errors(kRanks);
    std::vector<std::vector<float>> matrices(kRanks);
    run_communicators(kRanks, [&](Communicator& communicator) {
      const std::size_t rank = communicator.rank();
      const auto method = make_powersgd(communicator, {{"w", {20, 30}}}, {.rank = 2},
                                        {.topology = topology, .seed = 1});
      for (std::uint64_t step = 0; step < 20; ++step) {
        Gradients gradients = step_gradients({{"w", {20, 30}}}, rank, step);
        matrices[rank] = gradients.values[0];
        const auto error = array_of(method->save(), "error", "w");
        for (std::size_t i = 0; i < error.size(); ++i) matrices[rank][i] += error[i];
        method->run({.step = step}, gradients.spans);
        errors[rank] = array_of(method->save(), "error", "w");
        communicator.barrier();
        for (std::size_t i = 0; i < error.size(); ++i) {
          double difference = double{gradients.values[0][i]};
          for (std::size_t r = 0; r < kRanks; ++r) {
            difference += (double{errors[r][i]} - double{matrices[r][i]}) / kRanks;
          }
          EXPECT_NEAR(difference, 0, 1e-5);
        }
        communicator.barrier();
      }
    });
  }
}

TEST(PowerSgdThreads, ErrorsStayBoundedWithDifferentGradients) {
  run_communicators(4, [](Communicator& communicator) {
    const auto method = make_powersgd(communicator, {{"w", {24, 24}}}, {.rank = 2}, {.seed = 1});
    double early = 0;
    double late = 0;
    for (std::uint64_t step = 0; step < 500; ++step) {
      Gradients gradients = step_gradients({{"w", {24, 24}}}, communicator.rank(), step);
      // What this rank alone has, the same at every step.
      const auto own = rank_values(communicator.rank(), 7, 24 * 24);
      for (std::size_t i = 0; i < own.size(); ++i) gradients.values[0][i] += own[i];
      method->run({.step = step}, gradients.spans);
      double& largest = step < 250 ? early : late;
      largest = std::max(largest, norm_of(array_of(method->save(), "error", "w")));
    }
    EXPECT_LT(late, 1.2 * early);
    EXPECT_GT(early, 0);
  });
}

TEST(PowerSgdThreads, SmallTensorsAreAveragedExactly) {
  run_communicators(2, [](Communicator& communicator) {
    const std::vector<MethodTensor> tensors = {
        {"bias", {50}}, {"small", {4, 4}}, {"one", {}}, {"none", {0, 9}}};
    const auto method = make_powersgd(communicator, tensors, {.rank = 4}, {});
    EXPECT_EQ(method->memory_bytes(), 0U);
    Gradients gradients = step_gradients(tensors, communicator.rank(), 0);
    const Gradients first = step_gradients(tensors, 0, 0);
    const Gradients second = step_gradients(tensors, 1, 0);
    const float weight = communicator.rank() == 0 ? 0.5F : 1.5F;
    const MethodReport report = method->run({.weight = weight}, gradients.spans);
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      for (std::size_t i = 0; i < gradients.values[t].size(); ++i) {
        EXPECT_FLOAT_EQ(gradients.values[t][i],
                        (0.5F * first.values[t][i] + 1.5F * second.values[t][i]) / 2);
      }
    }
    EXPECT_EQ(report.exchanges, 1U);
    EXPECT_EQ(report.uploads, 1U);
    EXPECT_GT(report.traffic.bytes_sent, 67 * sizeof(float));
  });
}

// With two ranks a sum has one order, so that all ways to make it give the same.
TEST(PowerSgdThreads, ResultsAreTheSameOnAllRanksAndTopologies) {
  std::vector<std::vector<float>> results;
  for (const Topology topology : {Topology::automatic, Topology::ring, Topology::scatter,
                                  Topology::server, Topology::gather}) {
    std::vector<std::vector<float>> outputs(2);
    run_communicators(2, [&](Communicator& communicator) {
      const auto method = make_powersgd(communicator, mixed_tensors(), {.rank = 3},
                                        {.topology = topology, .seed = 9, .group_elements = 500});
      EXPECT_EQ(method->topology(), topology == Topology::automatic ? Topology::ring : topology);
      for (std::uint64_t step = 0; step < 4; ++step) {
        Gradients gradients = step_gradients(mixed_tensors(), communicator.rank(), step);
        const MethodReport report = method->run({.step = step}, gradients.spans);
        EXPECT_EQ(report.poisoned, 0U);
        append(gradients, outputs[communicator.rank()]);
      }
    });
    EXPECT_TRUE(same_bits(outputs[0], outputs[1]));
    results.push_back(outputs[0]);
  }
  for (const auto& result : results) EXPECT_TRUE(same_bits(result, results[0]));
}

TEST(PowerSgdThreads, ASilentServerGetsWhatTheWorkersGet) {
  std::vector<std::vector<float>> outputs(3);
  run_communicators(3, [&](Communicator& communicator) {
    const std::size_t rank = communicator.rank();
    const auto method = make_powersgd(
        communicator, mixed_tensors(), {.rank = 3},
        {.topology = Topology::server, .server = 1, .server_contributes = false, .seed = 9});
    for (std::uint64_t step = 0; step < 3; ++step) {
      Gradients gradients = step_gradients(mixed_tensors(), rank, step);
      const MethodReport report = method->run({.step = step}, gradients.spans);
      EXPECT_EQ(report.uploads, rank == 1 ? 0U : 1U);
      append(gradients, outputs[rank]);
    }
    const MethodState state = method->save();
    EXPECT_EQ(state.only_averages, rank == 1);
    EXPECT_EQ(array_of(state, "error", "w").empty(), rank == 1);
    method->load(state);
  });
  EXPECT_TRUE(same_bits(outputs[0], outputs[1]));
  EXPECT_TRUE(same_bits(outputs[0], outputs[2]));
}

TEST(PowerSgdThreads, ZeroGradientsGiveZeros) {
  run_communicators(2, [](Communicator& communicator) {
    const auto method = make_powersgd(communicator, mixed_tensors(), {.rank = 2}, {.seed = 1});
    for (std::uint64_t step = 0; step < 2; ++step) {
      Gradients zeros(method_elements(mixed_tensors()));
      method->run({.step = step}, zeros.spans);
      for (const auto& values : zeros.values) EXPECT_EQ(values, std::vector<float>(values.size()));
    }
    // And what comes after them is sent again.
    Gradients gradients = step_gradients(mixed_tensors(), communicator.rank(), 0);
    method->run({.step = 2}, gradients.spans);
    EXPECT_GT(norm_of(gradients.values[0]), 0);
  });
}

TEST(PowerSgdThreads, HugeAndTinyGradientsAreCompressedAlike) {
  run_communicators(2, [](Communicator& communicator) {
    std::vector<float> expected;
    for (const float scale : {1.0F, 0x1p80F, 0x1p-80F}) {
      const auto method = make_powersgd(communicator, {{"w", {20, 30}}}, {.rank = 2}, {.seed = 1});
      Gradients gradients(method_elements({{"w", {20, 30}}}));
      for (std::uint64_t step = 0; step < 3; ++step) {
        gradients = step_gradients({{"w", {20, 30}}}, communicator.rank(), step);
        for (float& value : gradients.values[0]) value *= scale;
        method->run({.step = step}, gradients.spans);
      }
      for (float& value : gradients.values[0]) value /= scale;
      if (expected.empty()) expected = gradients.values[0];
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(gradients.values[0][i], expected[i], 1e-4);
      }
    }
  });
}

TEST(PowerSgdThreads, MemoryIsOneVectorAndFactors) {
  run_communicators(1, [](Communicator& communicator) {
    const auto method =
        make_powersgd(communicator, {{"w", {300, 200}}, {"bias", {300}}}, {.rank = 4}, {});
    EXPECT_EQ(method->memory_bytes(), sizeof(float) * (300 * 200 + 4 * 300 + 3 * 4 * 200));
    EXPECT_EQ(method->spec(), "powersgd(rank=4)");
    EXPECT_TRUE(method->owned().empty());
    EXPECT_FALSE(method->traits().needs_whole_gradient);
  });
}

TEST(PowerSgdThreads, WhatMakesNoSenseIsRefused) {
  run_communicators(1, [](Communicator& communicator) {
    const auto refusal = [&](const std::vector<MethodTensor>& tensors, std::size_t rank) {
      return message_of<Error>([&] { make_powersgd(communicator, tensors, {.rank = rank}, {}); });
    };
    EXPECT_EQ(refusal({{"a", {2}}}, 0), "powersgd needs a rank of at least 1");
    EXPECT_EQ(refusal({{"a", {2}}, {"a", {2}}}, 1),
              "two tensors are called 'a': names tell their memories apart");
    const auto method = make_powersgd(communicator, mixed_tensors(), {}, {});
    std::vector<float> values(3);
    EXPECT_THROW(method->submit(0, values), Error);
    EXPECT_THROW(method->finish(), Error);
    method->begin({});
    EXPECT_THROW(method->begin({}), Error);
    EXPECT_THROW(method->submit(1, values), Error);
    EXPECT_THROW(method->submit(0, values), Error);
    EXPECT_THROW(method->finish(), Error);
  });
}

}  // namespace
}  // namespace gradwire
