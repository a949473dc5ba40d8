#include "gradwire/method/levels/host_method.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "gradwire/core/error_test_support.h"
#include "gradwire/method/levels/parts.h"
#include "gradwire/method/registry.h"
#include "gradwire/method/workload_test_support.h"

namespace gradwire {
namespace {

using Model = std::vector<std::vector<float>>;

CommunicatorOptions on_hosts(HostChoice hosts) {
  return {.run = 7, .peer_timeout = std::chrono::milliseconds(20000), .hosts = std::move(hosts)};
}

// Some tensors are cut, others are too small.
std::vector<MethodTensor> layers() {
  return {{"w1", {64, 100}}, {"b1", {64}}, {"none", {0}}, {"w2", {4, 2000}}, {"b2", {7}}};
}

// All ranks of a host send, however small their parts.
MethodOptions usual() { return {.seed = 3, .group_elements = 6000, .host_part_bytes_min = 0}; }

// The models of all ranks after some steps.
std::vector<Model> models_after(std::size_t ranks, const HostChoice& hosts, const std::string& spec,
                                std::uint64_t steps) {
  std::vector<Model> models(ranks);
  run_communicators(ranks, on_hosts(hosts), [&](Communicator& communicator) {
    TestWorker worker(communicator, spec, usual(), layers());
    for (std::uint64_t step = 0; step < steps; ++step) worker.step(step);
    models[communicator.rank()] = worker.model();
  });
  return models;
}

void expect_same_on_all(const std::vector<Model>& models, const std::string& what) {
  for (const Model& model : models) EXPECT_EQ(model, models[0]) << what;
  for (const auto& tensor : models[0]) {
    EXPECT_TRUE(std::ranges::all_of(tensor, [](float x) { return std::isfinite(x); })) << what;
  }
}

std::vector<std::string> specs_for_hosts() {
  std::vector<std::string> specs = test_specs();
  specs.insert(specs.end(), {"lgreco(qsgd)", "lgreco(topk)", "lgreco(powersgd)"});
  return specs;
}

// The exact mean, in the order that host_sum.h documents: halves are exact.
TEST(HostMethod, PlainMeansAreAddedInTheDocumentedOrder) {
  std::vector<Model> means(4);
  run_communicators(4, on_hosts({.count = 2}), [&](Communicator& communicator) {
    Model gradients;
    for (std::size_t i = 0; i < layers().size(); ++i) {
      gradients.push_back(rank_values(communicator.rank(), i, layers()[i].elements()));
    }
    const auto method = make_method(communicator, layers(), "none", usual());
    const std::vector<std::span<float>> spans(gradients.begin(), gradients.end());
    method->run({.weight = communicator.rank() == 1 ? 1.5F : 1.0F}, spans);
    means[communicator.rank()] = gradients;
  });
  for (std::size_t i = 0; i < layers().size(); ++i) {
    const std::size_t elements = layers()[i].elements();
    const auto of = [&](std::size_t rank) { return rank_values(rank, i, elements); };
    const auto g0 = of(0), g1 = of(1), g2 = of(2), g3 = of(3);
    for (std::size_t j = 0; j < elements; ++j) {
      const float weighted = 1.5F * g1[j];
      const float first = (g0[j] + weighted) * 0.5F;
      const float second = (g2[j] + g3[j]) * 0.5F;
      for (const Model& mean : means)
        ASSERT_EQ(mean[i][j], (first + second) * 0.5F) << i << ' ' << j;
    }
  }
}

TEST(HostMethod, EveryMethodGivesAllRanksTheSame) {
  for (const std::string& spec : specs_for_hosts()) {
    expect_same_on_all(models_after(4, {.count = 2}, spec, 6), spec);
  }
}

// Workers that take steps of their own: the common model is the same on all ranks.
TEST(HostMethod, LocalStepsAreExchangedOnTwoLevels) {
  for (const char* spec :
       {"local(none, every=2)", "local(topk(10%), every=4, fragments=2, delay=1)"}) {
    std::vector<Model> models(4);
    run_communicators(4, on_hosts({.count = 2}), [&](Communicator& communicator) {
      const auto method = make_method(communicator, layers(), spec, usual());
      Model x;
      for (const MethodTensor& tensor : layers()) x.emplace_back(tensor.elements());
      for (std::uint64_t step = 0; step < 8; ++step) {
        const std::vector<std::span<const float>> parameters(x.begin(), x.end());
        method->begin({.step = step, .parameters = parameters, .is_last = step == 7});
        for (std::size_t i = 0; i < x.size(); ++i) {
          const auto target = rank_values(communicator.rank(), i, x[i].size());
          for (std::size_t j = 0; j < x[i].size(); ++j) x[i][j] -= 0.1F * (x[i][j] - target[j]);
          method->submit(i, x[i]);
        }
        method->finish();
      }
      for (std::size_t i = 0; i < x.size(); ++i) {
        models[communicator.rank()].emplace_back(method->model(i).begin(), method->model(i).end());
      }
    });
    expect_same_on_all(models, spec);
    EXPECT_NE(models[0][0][0], 0.0F) << spec;
  }
}

TEST(HostMethod, HostsMayHaveDifferentNumbersOfRanks) {
  for (const char* spec :
       {"none", "ef(topk(10%))", "powersgd(rank=2)", "sasg(topk(10%), window=3)"}) {
    expect_same_on_all(models_after(6, {.by_rank = {0, 1, 1, 2, 0, 1}}, spec, 4), spec);
  }
}

// Every rank counts once, whatever its host.
TEST(HostMethod, UnevenHostsAreWeightedByTheirRanks) {
  run_communicators(3, on_hosts({.by_rank = {0, 1, 1}}), [](Communicator& communicator) {
    std::vector<float> values(5000, static_cast<float>(communicator.rank()));
    const auto method = make_method(communicator, {{"w", {values.size()}}}, "none", usual());
    method->run({}, std::vector<std::span<float>>{values});
    for (const float value : values) ASSERT_FLOAT_EQ(value, 1);
  });
}

// A host whose ranks have the same gradients is one worker. Methods whose parts are not cut do not
// see a difference.
TEST(HostMethod, AHostOfTwinsIsOneWorker) {
  const auto model_of_hosts = [](std::size_t ranks, std::size_t twins, const std::string& spec) {
    Model model;
    run_communicators(ranks, on_hosts({.count = 2}), [&](Communicator& communicator) {
      const std::size_t host = communicator.rank() / twins;
      const auto method = make_method(communicator, layers(), spec, usual());
      Model x;
      for (const MethodTensor& tensor : layers()) x.emplace_back(tensor.elements());
      const auto gradient = [&](std::span<const std::span<const float>> at, std::uint64_t step) {
        Model all;
        for (std::size_t i = 0; i < at.size(); ++i) {
          all.push_back(rank_values(10 * step + host, i, at[i].size()));
          for (std::size_t j = 0; j < at[i].size(); ++j) all[i][j] = 0.1F * all[i][j] + at[i][j];
        }
        return all;
      };
      for (std::uint64_t step = 0; step < 8; ++step) {
        const std::vector<std::span<const float>> parameters(x.begin(), x.end());
        Model output = gradient(parameters, step);
        method->run(
            {.step = step,
             .learning_rate = 0.1,
             .parameters = parameters,
             .gradient_at =
                 [&](std::span<const std::span<const float>> old, const TakeGradient& take) {
                   const Model all = gradient(old, step);
                   for (std::size_t i = 0; i < all.size(); ++i) take(i, all[i]);
                 }},
            std::vector<std::span<float>>(output.begin(), output.end()));
        for (std::size_t i = 0; i < x.size(); ++i) {
          for (std::size_t j = 0; j < x[i].size(); ++j) x[i][j] -= 0.1F * output[i][j] + 0.01F;
        }
      }
      if (communicator.rank() == 0) model = x;
    });
    return model;
  };
  for (const char* spec : {"none", "lasg(none, window=2)", "sasg(topk(10%), window=2, delay=3)",
                           "dgc(5%, warmup=8, clip=2, values=natural)", "lgreco(topk)"}) {
    EXPECT_EQ(model_of_hosts(4, 2, spec), model_of_hosts(2, 1, spec)) << spec;
  }
}

// What hosts send does not depend on the number of their ranks, but for the headers of more frames.
TEST(HostMethod, BytesBetweenHostsStayTheSame) {
  const auto bytes_of = [](std::size_t ranks, const HostChoice& hosts, const std::string& spec) {
    std::mutex mutex;
    std::uint64_t bytes = 0;
    run_communicators(ranks, on_hosts(hosts), [&](Communicator& communicator) {
      const std::vector<MethodTensor> tensors = {
          {"w1", {2048, 256}}, {"b1", {2048}}, {"w2", {256, 2048}}, {"b2", {256}}};
      TestWorker worker(communicator, spec, {.topology = Topology::scatter, .seed = 3}, tensors);
      const MethodReport report = worker.step(0);
      const std::lock_guard lock(mutex);
      bytes += report.traffic.bytes_sent;
    });
    return static_cast<double>(bytes);
  };
  for (const char* spec : {"none", "qsgd(bits=4)", "ef(topk(1%) | natural)", "powersgd(rank=2)"}) {
    const double one = bytes_of(2, {}, spec);
    for (const std::size_t ranks : {std::size_t{4}, std::size_t{8}}) {
      EXPECT_NEAR(bytes_of(ranks, {.count = 2}, spec) / one, 1, 0.05) << spec << ' ' << ranks;
    }
  }
}

TEST(HostMethod, APoisonedStepIsPoisonedOnAllRanksAndForgotten) {
  for (const char* spec : {"ef(topk(10%))", "ef21(topk(10%))", "powersgd(rank=2)",
                           "adam(sign, warmup=2)", "dgc(5%, warmup=8, clip=2, values=natural)"}) {
    std::vector<Model> models(4);
    std::vector<std::size_t> poisoned(4);
    run_communicators(4, on_hosts({.count = 2}), [&](Communicator& communicator) {
      TestWorker worker(communicator, spec, usual(), layers());
      for (std::uint64_t step = 0; step < 6; ++step) {
        const auto report = worker.step(step, step == 3 && communicator.rank() == 2);
        if (step == 3) {
          poisoned[communicator.rank()] = report.poisoned;
        } else {
          EXPECT_EQ(report.poisoned, 0u) << spec;
        }
      }
      models[communicator.rank()] = worker.model();
    });
    EXPECT_GT(poisoned[0], 0u) << spec;
    for (const std::size_t count : poisoned) EXPECT_EQ(count, poisoned[0]) << spec;
    expect_same_on_all(models, spec);
  }
}

// --- States ---

struct Saved {
  std::vector<MethodState> states;
  Model model;
};

Saved saved_after(std::size_t ranks, const HostChoice& hosts, const std::string& spec,
                  std::uint64_t steps) {
  Saved saved{.states = std::vector<MethodState>(ranks), .model = {}};
  run_communicators(ranks, on_hosts(hosts), [&](Communicator& communicator) {
    TestWorker worker(communicator, spec, usual(), layers());
    for (std::uint64_t step = 0; step < steps; ++step) worker.step(step);
    saved.states[communicator.rank()] = worker.method().save();
    if (communicator.rank() == 0) saved.model = worker.model();
  });
  return saved;
}

TEST(HostMethod, ContinuesFromItsStateBitForBit) {
  for (const std::string& spec : specs_for_hosts()) {
    const Saved saved = saved_after(4, {.count = 2}, spec, 3);
    std::vector<Model> models(4);
    run_communicators(4, on_hosts({.count = 2}), [&](Communicator& communicator) {
      TestWorker worker(communicator, spec, usual(), layers());
      worker.method().load(saved.states[communicator.rank()]);
      EXPECT_EQ(worker.method().save(), saved.states[communicator.rank()]) << spec;
      worker.set_model(saved.model);
      for (std::uint64_t step = 3; step < 6; ++step) worker.step(step);
      models[communicator.rank()] = worker.model();
    });
    EXPECT_EQ(models, models_after(4, {.count = 2}, spec, 6)) << spec;
  }
}

// The memory of the new hosts is the mean of that of the old ones, whoever has which part.
TEST(HostMethod, StatesAreSharedAnewAmongOtherHosts) {
  const std::string spec = "ef(topk(10%), down=none)";
  const Saved saved = saved_after(4, {.count = 2}, spec, 3);
  const auto error_of_tensor = [](std::span<const MethodState> states, const std::string& tensor) {
    std::vector<double> sums(6400);
    for (const MethodState& state : states) {
      for (const StateArray& array : state.arrays) {
        if (array.memory != "error" || array.tensor != tensor) continue;
        for (std::size_t i = 0; i < array.values.size(); ++i) {
          sums[array.first + i] += double{array.values[i]};
        }
      }
    }
    return sums;
  };
  const auto before = error_of_tensor(saved.states, "w1");
  std::vector<MethodState> after(9);
  run_communicators(9, on_hosts({.count = 3}), [&](Communicator& communicator) {
    TestWorker worker(communicator, spec, usual(), layers());
    worker.method().load(reshare(saved.states, communicator.rank(), 9));
    after[communicator.rank()] = worker.method().save();
  });
  const auto now = error_of_tensor(after, "w1");
  for (std::size_t i = 0; i < before.size(); ++i) ASSERT_NEAR(now[i] / 3, before[i] / 2, 1e-6) << i;
}

TEST(HostMethod, RefusesStatesOfOtherHosts) {
  const Saved saved = saved_after(4, {.count = 2}, "ef(topk(10%))", 1);
  run_communicators(4, on_hosts({}), [&](Communicator& communicator) {
    TestWorker worker(communicator, "ef(topk(10%))", usual(), layers());
    const std::string why =
        error_of([&] { worker.method().load(saved.states[communicator.rank()]); });
    EXPECT_NE(why.find("2 hosts with 2 ranks each"), std::string::npos) << why;
  });
}

// --- Mistakes and losses ---

TEST(HostMethod, RefusesADedicatedServer) {
  run_communicators(4, on_hosts({.count = 2}), [](Communicator& communicator) {
    const std::string why = error_of([&] {
      make_method(communicator, layers(), "natural",
                  {.topology = Topology::server, .server_contributes = false});
    });
    EXPECT_NE(why.find("dedicated server"), std::string::npos);
  });
}

TEST(HostMethod, TheServerMayBeOnAnyHost) {
  std::vector<Model> models(4);
  run_communicators(4, on_hosts({.count = 2}), [&](Communicator& communicator) {
    TestWorker worker(communicator, "ef(topk(10%))",
                      {.topology = Topology::server, .server = 3, .seed = 3}, layers());
    for (std::uint64_t step = 0; step < 3; ++step) worker.step(step);
    models[communicator.rank()] = worker.model();
  });
  expect_same_on_all(models, "server");
}

TEST(HostMethod, ALostRankOfAHostIsNamedByAll) {
  std::mutex mutex;
  std::vector<std::size_t> causes;
  struct GaveUp : Error {
    using Error::Error;
  };
  EXPECT_THROW(run_communicators(4, on_hosts({.count = 2}),
                                 [&](Communicator& communicator) {
                                   TestWorker worker(communicator, "ef(topk(10%))", usual(),
                                                     layers());
                                   worker.step(0);
                                   if (communicator.rank() == 3) throw GaveUp("on purpose");
                                   try {
                                     for (std::uint64_t step = 1; step < 100; ++step)
                                       worker.step(step);
                                   } catch (const PeerError& error) {
                                     const std::lock_guard lock(mutex);
                                     causes.push_back(error.rank());
                                     throw;
                                   }
                                 }),
               GaveUp);
  EXPECT_EQ(causes, (std::vector<std::size_t>{3, 3, 3}));
}

}  // namespace
}  // namespace gradwire
