// Methods whose owners do not wait for late ranks. Who is late is known in advance here.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <latch>
#include <limits>
#include <thread>

#include "gradwire/core/error.h"
#include "gradwire/method/parsed_method.h"
#include "gradwire/method/training_test_support.h"
#include "gradwire/method/workload_test_support.h"

namespace gradwire {
namespace {

using IsLate = std::function<bool(std::size_t rank, std::uint64_t step)>;

MethodOptions with_grace(MethodOptions options, const IsLate& is_late) {
  options.grace = {.share = 0.5, .is_late = is_late};
  options.host_part_bytes_min = 0;
  return options;
}

MethodOptions scatter_with(const IsLate& is_late) {
  return with_grace({.topology = Topology::scatter, .seed = 3}, is_late);
}

const std::vector<std::string> kSpecs = {"ef(topk(10%))",
                                         "ef(topk(10%) | natural)",
                                         "ef(topk(10%), down=none)",
                                         "ef(qsgd(bits=4))",
                                         "ef(natural, down=topk(20%))",
                                         "ef(sign, memory=0.9)",
                                         "lasg(none)",
                                         "sasg(topk(10%), window=3, delay=4)",
                                         "dgc(5%)",
                                         "dgc(5%, warmup=8, clip=2, values=natural)"};

// By rank and step.
using Outputs = std::vector<std::vector<std::vector<std::vector<float>>>>;

struct Steps {
  explicit Steps(std::size_t ranks) : outputs(ranks), reports(ranks) {}
  Outputs outputs;
  std::vector<std::vector<MethodReport>> reports;
};

Steps run_steps(const std::string& spec, std::size_t ranks, const MethodOptions& options,
                std::uint64_t steps, const HostChoice& hosts = {}) {
  Steps run(ranks);
  const CommunicatorOptions group{
      .run = 7, .peer_timeout = std::chrono::milliseconds(10000), .hosts = hosts};
  run_communicators(ranks, group, [&](Communicator& communicator) {
    const std::size_t rank = communicator.rank();
    TestWorker worker(communicator, spec, options);
    for (std::uint64_t step = 0; step < steps; ++step) {
      run.reports[rank].push_back(worker.step(step));
      run.outputs[rank].push_back(worker.output());
    }
  });
  return run;
}

bool is_sometimes_late(std::size_t rank, std::uint64_t step) {
  return rank != 0 && (3 * rank + step * step) % 5 < 2;
}

TEST(GraceThreads, ReplicasStayTheSameBitForBit) {
  for (const TestPlace& place : test_places()) {
    if (place.topology == Topology::automatic || !traits_of(place.topology).has_owners) continue;
    for (const std::string& spec : kSpecs) {
      SCOPED_TRACE(spec + ", " + place.name());
      const Steps run = run_steps(spec, 4, with_grace(place.options(), is_sometimes_late), 12);
      for (std::size_t rank = 1; rank < 4; ++rank) {
        EXPECT_EQ(run.outputs[rank], run.outputs[0]) << rank;
      }
    }
  }
}

TEST(GraceThreads, ReportsNameTheLateRanks) {
  const Steps run = run_steps("ef(topk(10%))", 4, scatter_with(is_sometimes_late), 12);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    for (std::uint64_t step = 0; step < 12; ++step) {
      std::vector<std::size_t> late;
      for (std::size_t peer = 0; peer < 4; ++peer) {
        if (is_sometimes_late(peer, step)) late.push_back(peer);
      }
      EXPECT_EQ(run.reports[rank][step].late, late) << rank << ", " << step;
      EXPECT_EQ(run.reports[rank][step].poisoned, 0u);
    }
  }
}

// A host is one worker, and late with all its ranks if it is late for any part. The second part has
// the hosts in another order.
TEST(GraceThreads, TheRanksOfAHostAreLateTogether) {
  const HostChoice hosts{.by_rank = {0, 1, 2, 1, 0, 2, 0}};
  constexpr std::size_t kPeers[2][3] = {{0, 1, 2}, {1, 0, 2}};  // by part and host
  for (const std::string& spec : kSpecs) {
    const ParsedMethod method = parse_method(spec);
    const std::size_t parts = method.host_parts == HostParts::one_rank ? 1 : 2;
    const Steps run = run_steps(spec, 7, scatter_with(is_sometimes_late), 12, hosts);
    for (std::size_t rank = 0; rank < 7; ++rank) {
      EXPECT_EQ(run.outputs[rank], run.outputs[0]) << spec << ", " << rank;
    }
    for (std::uint64_t step = method.traits.reuses_uploads ? 1 : 0; step < 12; ++step) {
      std::vector<std::size_t> late;
      for (std::size_t rank = 0; rank < 7; ++rank) {
        bool is_late = false;
        for (std::size_t part = 0; part < parts; ++part) {
          is_late = is_late || is_sometimes_late(kPeers[part][hosts.by_rank[rank]], step);
        }
        if (is_late) late.push_back(rank);
      }
      for (const auto& reports : run.reports) EXPECT_EQ(reports[step].late, late) << spec << step;
    }
  }
}

TEST(GraceThreads, WithoutLateHostsNothingChanges) {
  const auto never = [](std::size_t, std::uint64_t) { return false; };
  for (const std::string& spec : kSpecs) {
    const MethodOptions plain{.topology = Topology::scatter, .seed = 3, .host_part_bytes_min = 0};
    const Steps with = run_steps(spec, 4, scatter_with(never), 6, {.count = 2});
    EXPECT_EQ(with.outputs, run_steps(spec, 4, plain, 6, {.count = 2}).outputs) << spec;
  }
}

TEST(GraceThreads, WithoutLateRanksNothingChanges) {
  for (const std::string& spec : kSpecs) {
    const MethodOptions plain{.topology = Topology::scatter, .seed = 3, .host_part_bytes_min = 0};
    const Steps with = run_steps(spec, 4, scatter_with([](auto, auto) { return false; }), 6);
    EXPECT_EQ(with.outputs, run_steps(spec, 4, plain, 6).outputs) << spec;
  }
}

TEST(GraceThreads, AMeanWithoutARankIsThatOfTheOthers) {
  const auto last_is_late = [](std::size_t rank, std::uint64_t) { return rank == 3; };
  for (const char* const spec : {"ef(topk(10%), down=none)", "ef(topk(10%))"}) {
    const Steps four = run_steps(spec, 4, scatter_with(last_is_late), 6);
    const Steps three = run_steps(spec, 3, {.topology = Topology::scatter, .seed = 3}, 6);
    EXPECT_EQ(four.outputs[3], four.outputs[0]) << spec;
    if (std::string(spec).find("down=none") == std::string::npos) continue;  // parts differ
    EXPECT_EQ(four.outputs[0], three.outputs[0]) << spec;
  }
}

// --- What a late rank remembers ---

constexpr std::size_t kElements = 300;

Model gradient_of(std::size_t rank, std::uint64_t step) {
  return rank_values(10 * step + rank, 0, kElements);
}

// One rank's method of one tensor.
class OneTensor {
 public:
  OneTensor(Communicator& communicator, const std::string& spec, const MethodOptions& options)
      : communicator_(communicator),
        method_(make_method(communicator, {{"model", {kElements}}}, spec, options)) {}

  Method& method() { return *method_; }
  const Model& output() const { return output_; }

  MethodReport step(std::uint64_t step, Model gradient, double rate = 1) {
    output_ = std::move(gradient);
    const std::span<float> spans[] = {output_};
    return method_->run({.step = step, .learning_rate = rate}, spans);
  }

  // All ranks call it at the same step.
  Model memory(const std::string& name) {
    communicator_.barrier();
    const Model memory = memory_of(method_->save(), name);
    communicator_.barrier();
    return memory;
  }

 private:
  Communicator& communicator_;
  std::unique_ptr<Method> method_;
  Model output_;
};

Model sum_of(const Model& a, const Model& b) {
  Model sum = a;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += b[i];
  return sum;
}

TEST(GraceThreads, ALateGradientStaysInTheErrorAndTravelsLater) {
  const auto second_late = [](std::size_t rank, std::uint64_t step) {
    return rank == 2 && step == 1;
  };
  for (const char* const spec : {"ef(topk(10%))", "ef(qsgd(bits=4))"}) {
    run_communicators(4, [&](Communicator& communicator) {
      const std::size_t rank = communicator.rank();
      OneTensor tensor(communicator, spec, scatter_with(second_late));
      tensor.step(0, gradient_of(rank, 0));
      const Model before = tensor.memory("error");
      tensor.step(1, gradient_of(rank, 1));
      const Model late = tensor.memory("error");
      const Model all = sum_of(gradient_of(rank, 1), before);
      EXPECT_EQ(late == all, rank == 2);
      EXPECT_TRUE(tensor.method().wants_gradient());  // one late gradient travels with the next
      tensor.step(2, gradient_of(rank, 2));
      EXPECT_NE(tensor.memory("error"), sum_of(gradient_of(rank, 2), late));
    });
  }
}

TEST(GraceThreads, ALateVelocityOfDgcStays) {
  const auto is_late = [](std::size_t rank, std::uint64_t step) { return rank == 2 && step == 1; };
  run_communicators(4, [&](Communicator& communicator) {
    const std::size_t rank = communicator.rank();
    OneTensor tensor(communicator, "dgc(10%, momentum=0.5)", scatter_with(is_late));
    tensor.step(0, gradient_of(rank, 0));
    const Model velocity = tensor.memory("velocity");
    const Model sum = tensor.memory("velocity sum");
    tensor.step(1, gradient_of(rank, 1));
    const Model late = tensor.memory("velocity sum");
    if (rank != 2) return;
    for (std::size_t i = 0; i < kElements; ++i) {
      EXPECT_NEAR(late[i], sum[i] + 0.5F * velocity[i] + gradient_of(rank, 1)[i], 1e-6);
    }
  });
}

TEST(GraceThreads, LastUploadsCountForLateRanks) {
  const auto is_late = [](std::size_t rank, std::uint64_t step) { return rank == 2 && step > 0; };
  std::vector<float> outputs;
  run_communicators(3, [&](Communicator& communicator) {
    const std::size_t rank = communicator.rank();
    const auto method = make_method(communicator, {{"model", {kElements}}},
                                    "lasg(none, window=100)", scatter_with(is_late));
    const Model parameters(kElements);
    const std::span<const float> at[] = {parameters};
    for (std::uint64_t step = 0; step < 3; ++step) {
      // In the last step, the late rank finds the mean already there.
      while (rank == 2 && step == 2 && method->wants_gradient()) std::this_thread::yield();
      Model gradient(kElements, static_cast<float>(100 * step + rank));
      const std::span<float> spans[] = {gradient};
      method->run({.step = step, .parameters = at, .gradient_at = [](auto&&...) {}}, spans);
      if (rank == 0) outputs.push_back(gradient[0]);
      communicator.barrier();  // so the late upload is there before the next mean
    }
  });
  EXPECT_FLOAT_EQ(outputs[0], (0 + 1 + 2) / 3.0F);
  EXPECT_FLOAT_EQ(outputs[1], (100 + 101 + 2) / 3.0F);
  EXPECT_FLOAT_EQ(outputs[2], (200 + 201 + 102) / 3.0F);
}

// What was given is what was counted and what is left: nothing is lost.
TEST(GraceThreads, NothingIsLost) {
  constexpr std::uint64_t kSteps = 20;
  // A mean of one rank's messages is its messages, so they can be added up.
  const auto only_one_counts = [](std::size_t rank, std::uint64_t step) {
    return rank != step % 3;
  };
  std::vector<Model> left(3), given(3, Model(kElements)), counted(3, Model(kElements));
  run_communicators(3, [&](Communicator& communicator) {
    const std::size_t rank = communicator.rank();
    OneTensor tensor(communicator, "ef(topk(10%), down=none)", scatter_with(only_one_counts));
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      given[rank] = sum_of(given[rank], gradient_of(rank, step));
      tensor.step(step, gradient_of(rank, step));
      if (step % 3 == rank) counted[rank] = sum_of(counted[rank], tensor.output());
    }
    left[rank] = tensor.memory("error");
  });
  for (std::size_t rank = 0; rank < 3; ++rank) {
    for (std::size_t i = 0; i < kElements; ++i) {
      EXPECT_NEAR(given[rank][i], counted[rank][i] + left[rank][i], 1e-4) << rank << ", " << i;
    }
  }
}

TEST(GraceThreads, TheDownlinksMemoryFollowsTheLearningRate) {
  const auto never = [](std::size_t, std::uint64_t) { return false; };
  const MethodOptions plain{.topology = Topology::scatter, .seed = 3, .host_part_bytes_min = 0};
  std::vector<Model> with(4), without(4);
  for (const bool has_grace : {false, true}) {
    run_communicators(4, [&](Communicator& communicator) {
      OneTensor tensor(communicator, "ef(topk(10%))", has_grace ? scatter_with(never) : plain);
      for (std::uint64_t step = 0; step < 6; ++step) {
        communicator.barrier();  // a rate of the rank's own step holds for the owner's mean
        tensor.step(step, gradient_of(communicator.rank(), step), step < 3 ? 1.0 : 0.5);
        (has_grace ? with : without)[communicator.rank()] = tensor.output();
      }
    });
  }
  for (std::size_t i = 0; i < kElements; ++i) EXPECT_NEAR(with[0][i], without[0][i], 1e-5);
}

// --- Ranks at different steps ---

TEST(GraceThreads, OthersGoOnAndTheLateRankCatchesUp) {
  constexpr std::uint64_t kAhead = 6;
  const auto is_late = [](std::size_t rank, std::uint64_t step) {
    return rank == 3 && step >= 1 && step <= kAhead;
  };
  for (const char* const spec : {"ef(topk(10%))", "ef(topk(10%), down=none)"}) {
    std::latch others_ahead(3);
    std::vector<std::vector<Model>> outputs(4);
    run_communicators(4, [&](Communicator& communicator) {
      const std::size_t rank = communicator.rank();
      OneTensor tensor(communicator, spec, scatter_with(is_late));
      tensor.step(0, gradient_of(rank, 0));
      outputs[rank].push_back(tensor.output());
      if (rank == 3) others_ahead.wait();
      tensor.step(1, gradient_of(rank, 1));
      outputs[rank].push_back(tensor.output());
      for (std::uint64_t step = 2; step <= kAhead; ++step) {
        while (rank == 3 && tensor.method().wants_gradient()) std::this_thread::yield();
        tensor.step(step, rank == 3 ? Model(kElements) : gradient_of(rank, step));
        outputs[rank].push_back(tensor.output());
      }
      if (rank != 3) others_ahead.count_down();
      // It has caught up, and first sends the gradient of step 1.
      EXPECT_EQ(tensor.method().wants_gradient(), rank != 3);
      tensor.step(kAhead + 1, rank == 3 ? Model(kElements) : gradient_of(rank, kAhead + 1));
      outputs[rank].push_back(tensor.output());
      EXPECT_TRUE(tensor.method().wants_gradient());
    });
    for (std::size_t rank = 1; rank < 4; ++rank) EXPECT_EQ(outputs[rank], outputs[0]) << spec;
  }
}

TEST(GraceThreads, NoRankIsTooFarAhead) {
  constexpr std::uint64_t kSteps = 40;
  const auto is_late = [](std::size_t rank, std::uint64_t step) { return rank == 0 && step > 0; };
  std::atomic<std::uint64_t> fast = 0;
  run_communicators(3, [&](Communicator& communicator) {
    const std::size_t rank = communicator.rank();
    OneTensor tensor(communicator, "ef(topk(10%))", scatter_with(is_late));
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      // The slow rank lets the others come as far as they can.
      if (rank == 0 && step > 0) {
        while (fast < std::min(kSteps, step + kStepsAheadMax)) std::this_thread::yield();
        EXPECT_LE(fast, step + kStepsAheadMax + 1);
      }
      tensor.step(step, rank == 0 && step > 0 ? Model(kElements) : gradient_of(rank, step));
      if (rank == 1) ++fast;
    }
  });
}

// --- Poison ---

// Here the clock decides. One message is enough, so the owner hardly ever waits for the other one.
TEST(GraceThreads, EveryRankIsHeardNowAndThen) {
  const MethodOptions options{.topology = Topology::server, .seed = 3, .grace = {.share = 0.5}};
  const Steps run = run_steps("ef(topk(10%))", 2, options, 150);
  std::size_t left_out = 0;
  for (const MethodReport& report : run.reports[0]) {
    left_out = std::ranges::find(report.late, 1u) == report.late.end() ? 0 : left_out + 1;
    EXPECT_LE(left_out, kLeftOutMax);
  }
  EXPECT_EQ(run.outputs[0], run.outputs[1]);
}

TEST(GraceThreads, ALateNaNHurtsNobody) {
  const auto is_late = [](std::size_t rank, std::uint64_t step) { return rank == 1 && step == 1; };
  run_communicators(4, [&](Communicator& communicator) {
    const std::size_t rank = communicator.rank();
    OneTensor tensor(communicator, "ef(topk(10%))", scatter_with(is_late));
    tensor.step(0, gradient_of(rank, 0));
    const Model before = tensor.memory("error");
    Model gradient = gradient_of(rank, 1);
    if (rank == 1) gradient[7] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(tensor.step(1, gradient).poisoned, 0u);
    const Model after = tensor.memory("error");
    for (const float value : after) ASSERT_TRUE(std::isfinite(value));
    if (rank != 1) return;
    EXPECT_EQ(after[7], before[7]);                            // its piece is given up
    EXPECT_EQ(after.back(), gradient.back() + before.back());  // others are not
  });
}

TEST(GraceThreads, ACountedNaNChangesNoMemory) {
  const auto is_late = [](std::size_t rank, std::uint64_t step) { return rank == 2 && step == 1; };
  run_communicators(4, [&](Communicator& communicator) {
    const std::size_t rank = communicator.rank();
    OneTensor tensor(communicator, "ef(topk(10%))", scatter_with(is_late));
    tensor.step(0, gradient_of(rank, 0));
    const Model error = tensor.memory("error");
    const Model owed = tensor.memory("downlink error");
    Model gradient = gradient_of(rank, 1);
    if (rank == 0) gradient[7] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(tensor.step(1, gradient).poisoned, 1u);
    EXPECT_EQ(tensor.memory("error"), error);
    EXPECT_EQ(tensor.memory("downlink error"), owed);
    EXPECT_EQ(tensor.step(2, gradient_of(rank, 2)).poisoned, 0u);
  });
}

// --- Refusals ---

std::string refusal_of(const std::string& spec, const MethodOptions& options) {
  std::string message;
  run_communicators(2, [&](Communicator& communicator) {
    try {
      make_method(communicator, {{"model", {kElements}}}, spec, options);
    } catch (const Error& error) {
      if (communicator.rank() == 0) message = error.what();
    }
  });
  return message;
}

TEST(GraceThreads, MethodsWithoutAnErrorMemoryRefuseIt) {
  const auto never = [](std::size_t, std::uint64_t) { return false; };
  for (const char* const spec : {"natural", "none", "ef21(topk(10%))", "diana(natural)",
                                 "adam(sign)", "powersgd(rank=2)", "local(none)"}) {
    EXPECT_NE(refusal_of(spec, scatter_with(never)).find("cannot leave out late ranks"),
              std::string::npos)
        << spec;
  }
}

TEST(GraceThreads, TopologiesWithoutOwnersRefuseIt) {
  const auto never = [](std::size_t, std::uint64_t) { return false; };
  for (const Topology topology : {Topology::gather, Topology::ring}) {
    EXPECT_NE(refusal_of("ef(topk(10%))", with_grace({.topology = topology}, never))
                  .find("has no owners, use scatter, server"),
              std::string::npos)
        << name(topology);
  }
  EXPECT_EQ(refusal_of("ef(topk(10%))", with_grace({}, never)), "");
}

TEST(GraceThreads, StepsFollowOneAnother) {
  const auto never = [](std::size_t, std::uint64_t) { return false; };
  run_communicators(2, [&](Communicator& communicator) {
    OneTensor tensor(communicator, "ef(topk(10%))", scatter_with(never));
    tensor.step(7, gradient_of(communicator.rank(), 0));
    tensor.step(8, gradient_of(communicator.rank(), 1));
    EXPECT_THROW(tensor.step(10, gradient_of(communicator.rank(), 2)), Error);
    EXPECT_THROW(tensor.method().rescale(2), Error);
    communicator.barrier();
    const MethodState state = tensor.method().save();
    EXPECT_THROW(tensor.method().load(state), Error);
  });
}

}  // namespace
}  // namespace gradwire
