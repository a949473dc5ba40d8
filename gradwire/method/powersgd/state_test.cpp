// What powersgd remembers: over poison, changes of rates and scales, and saving.
#include <cmath>
#include <limits>

#include "gradwire/collective/test_support.h"
#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gradwire/method/powersgd/powersgd.h"
#include "gradwire/method/powersgd/powersgd_test_support.h"
#include "gradwire/method/rate_unit.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

// The first group holds the first tensor and no other.
const MethodOptions kOptions = {.seed = 5, .group_elements = 500};

std::unique_ptr<Method> make(Communicator& communicator) {
  return make_powersgd(communicator, mixed_tensors(), {.rank = 3}, kOptions);
}

TEST(PowerSgdThreads, PoisonCommitsNothing) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(),
                          -std::numeric_limits<float>::infinity(), 0x1p97F}) {
    for (const std::size_t tensor : {0U, 1U}) {
      if (bad == 0x1p97F && tensor == 1) continue;  // not compressed: a value like any other
      run_communicators(3, [&](Communicator& communicator) {
        const auto method = make(communicator);
        Gradients gradients = step_gradients(mixed_tensors(), communicator.rank(), 0);
        method->run({.step = 0}, gradients.spans);
        const MethodState before = method->save();

        gradients = step_gradients(mixed_tensors(), communicator.rank(), 1);
        if (communicator.rank() == 1) gradients.values[tensor][5] = bad;
        const MethodReport report = method->run({.step = 1}, gradients.spans);
        EXPECT_EQ(report.poisoned, 1U);
        const MethodState after = method->save();
        const bool is_first_group = tensor == 0;
        for (std::size_t i = 0; i < gradients.values.size(); ++i) {
          const bool is_poisoned = is_first_group == (i == 0);
          for (const float value : gradients.values[i]) EXPECT_EQ(std::isnan(value), is_poisoned);
          const std::string name = mixed_tensors()[i].name;
          for (const char* memory : {"error", "warm start"}) {
            const auto array = array_of(after, memory, name);
            if (array.empty()) continue;
            EXPECT_EQ(array == array_of(before, memory, name), is_poisoned) << name;
          }
        }
        // The next step is good again.
        gradients = step_gradients(mixed_tensors(), communicator.rank(), 2);
        EXPECT_EQ(method->run({.step = 2}, gradients.spans).poisoned, 0U);
        for (const auto& values : gradients.values) EXPECT_TRUE(std::isfinite(norm_of(values)));
      });
    }
  }
}

TEST(PowerSgdThreads, AStateThatIsLoadedGoesOnBitForBit) {
  std::vector<std::vector<float>> expected(3);
  std::vector<MethodState> saved(3);
  const auto run = [&](Communicator& communicator, Method& method, std::vector<float>& outputs) {
    for (std::uint64_t step = 4; step < 8; ++step) {
      Gradients gradients = step_gradients(mixed_tensors(), communicator.rank(), step);
      method.run({.step = step, .learning_rate = 0.5}, gradients.spans);
      append(gradients, outputs);
    }
  };
  run_communicators(3, [&](Communicator& communicator) {
    const auto method = make(communicator);
    for (std::uint64_t step = 0; step < 4; ++step) {
      Gradients gradients = step_gradients(mixed_tensors(), communicator.rank(), step);
      method->run({.step = step}, gradients.spans);
    }
    saved[communicator.rank()] = method->save();
    run(communicator, *method, expected[communicator.rank()]);
  });
  run_communicators(3, [&](Communicator& communicator) {
    const auto method = make(communicator);
    method->load(saved[communicator.rank()]);
    EXPECT_EQ(method->save(), saved[communicator.rank()]);
    std::vector<float> outputs;
    run(communicator, *method, outputs);
    EXPECT_TRUE(same_bits(outputs, expected[communicator.rank()]));
  });
}

TEST(PowerSgdThreads, AnotherNumberOfRanksTakesTheMean) {
  std::vector<MethodState> saved(4);
  run_communicators(4, [&](Communicator& communicator) {
    const auto method = make(communicator);
    Gradients gradients = step_gradients(mixed_tensors(), communicator.rank(), 0);
    method->run({}, gradients.spans);
    saved[communicator.rank()] = method->save();
  });
  run_communicators(2, [&](Communicator& communicator) {
    const auto method = make(communicator);
    EXPECT_THROW(method->load(saved[communicator.rank()]), Error);
    method->load(reshare(saved, communicator.rank(), 2));
    const auto error = array_of(method->save(), "error", "w");
    for (std::size_t i = 0; i < error.size(); ++i) {
      double mean = 0;
      for (const MethodState& state : saved) mean += double{array_of(state, "error", "w")[i]} / 4;
      EXPECT_NEAR(error[i], mean, 1e-6);
    }
    EXPECT_EQ(array_of(method->save(), "warm start", "w"), array_of(saved[0], "warm start", "w"));
  });
}

TEST(PowerSgdThreads, OtherStatesAreRefusedWithWhatDiffers) {
  run_communicators(1, [](Communicator& communicator) {
    const auto method = make(communicator);
    const auto refusal = [&](const MethodState& state) {
      const MethodState before = method->save();
      const std::string message = message_of<Error>([&] { method->load(state); });
      EXPECT_EQ(method->save(), before);
      return message;
    };
    MethodState state = method->save();
    state.topology = "ring";
    EXPECT_EQ(refusal(state), "");
    state.spec = "powersgd(rank=2)";
    state.tensors[0].shape = {30, 20};
    EXPECT_NE(refusal(state).find("powersgd(rank=2)"), std::string::npos);
    EXPECT_NE(refusal(state).find("tensor 'w' has shape [20, 30], saved with [30, 20]"),
              std::string::npos);
    state = method->save();
    state.arrays.pop_back();
    EXPECT_EQ(refusal(state), "the saved state has no 'warm start' of tensor 'v'");
    state = method->save();
    state.arrays[0].values.pop_back();
    EXPECT_EQ(refusal(state), "the saved state has 599 values of 'error' of tensor 'w', not 600");
  });
}

// The error's share of an update stays as the rate falls, up to the limit of growth.
TEST(PowerSgdThreads, ErrorsFollowTheLearningRate) {
  run_communicators(1, [](Communicator& communicator) {
    const auto left_error = [&](double first, double second) {
      const auto method = make(communicator);
      Gradients gradients = step_gradients(mixed_tensors(), 0, 0);
      method->run({.step = 0, .learning_rate = first}, gradients.spans);
      Gradients zeros(method_elements(mixed_tensors()));
      method->run({.step = 1, .learning_rate = second}, zeros.spans);
      auto sum = array_of(method->save(), "error", "w");
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += zeros.values[0][i];
      return sum;
    };
    const auto same = left_error(0.5, 0.5);
    const auto twice = left_error(0.5, 0.25);
    const auto most = left_error(0.5, 0.001);
    const auto risen = left_error(0.5, 2);
    const auto none = left_error(0.5, 0);
    for (std::size_t i = 0; i < same.size(); ++i) {
      EXPECT_NEAR(twice[i], same[i] * 2, 1e-5);
      EXPECT_NEAR(most[i], same[i] * ErrorUnit::kGrowthMax, 1e-5);
      EXPECT_EQ(risen[i], same[i]);
      EXPECT_EQ(none[i], same[i]);
    }
  });
}

TEST(PowerSgdThreads, ErrorsAreRescaledWithTheGradients) {
  run_communicators(1, [](Communicator& communicator) {
    const auto method = make(communicator);
    Gradients gradients = step_gradients(mixed_tensors(), 0, 0);
    method->run({}, gradients.spans);
    auto error = array_of(method->save(), "error", "w");
    const auto warm_start = array_of(method->save(), "warm start", "w");
    method->rescale(0.25F);
    for (float& value : error) value *= 0.25F;
    EXPECT_EQ(array_of(method->save(), "error", "w"), error);
    EXPECT_EQ(array_of(method->save(), "warm start", "w"), warm_start);
    EXPECT_THROW(method->rescale(0), Error);
  });
}

}  // namespace
}  // namespace gradwire
