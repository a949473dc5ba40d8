#include "gradwire/method/method.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <map>

#include "gradwire/file/test_directory.h"
#include "gradwire/method/state_file.h"
#include "gradwire/method/workload_test_support.h"

namespace gradwire {
namespace {

constexpr std::size_t kRanks = 3;

// Runs f(worker, rank) for every method on every topology that takes it.
template <class F>
void for_methods(const F& f, std::size_t group_elements = 1000) {
  for (const std::string& spec : test_specs()) {
    for (const TestPlace& place : test_places()) {
      SCOPED_TRACE(spec + " on " + place.name());
      MethodOptions options = place.options();
      options.group_elements = group_elements;
      f(spec, options);
    }
  }
}

// False where the topology does not take the method; all ranks find out alike.
bool runs_on(const std::string& spec, const MethodOptions& options) {
  bool runs = true;
  run_communicators(kRanks, [&](Communicator& communicator) {
    try {
      make_method(communicator, test_tensors(), spec, options);
    } catch (const StartError&) {
      throw;
    } catch (const Error&) {
      if (communicator.rank() == 0) runs = false;
    }
  });
  return runs;
}

using Model = std::vector<std::vector<float>>;

bool same_bits(const Model& a, const Model& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
    if (!std::ranges::equal(a[i], b[i], {}, bits, bits)) return false;
  }
  return a.size() == b.size();
}

TEST(MethodThreads, RanksNeverDiverge) {
  for_methods([](const std::string& spec, const MethodOptions& options) {
    if (!runs_on(spec, options)) return;
    std::vector<Model> models(kRanks);
    run_communicators(kRanks, [&](Communicator& communicator) {
      TestWorker worker(communicator, spec, options);
      for (std::uint64_t step = 0; step < 12; ++step) EXPECT_EQ(worker.step(step).poisoned, 0u);
      models[communicator.rank()] = worker.model();
    });
    for (const float value : models[0][0]) ASSERT_TRUE(std::isfinite(value));
    for (std::size_t rank = 1; rank < kRanks; ++rank) {
      EXPECT_TRUE(same_bits(models[0], models[rank])) << rank;
    }
  });
}

TEST(MethodThreads, SavedAndLoadedItGoesOnAsIfNothingHadHappened) {
  for_methods([](const std::string& spec, const MethodOptions& options) {
    if (!runs_on(spec, options)) return;
    constexpr std::uint64_t kCut = 7, kEnd = 14;
    std::vector<Model> models(kRanks), halfway(kRanks), resumed(kRanks);
    std::vector<std::vector<std::byte>> states(kRanks), last_states(kRanks);
    run_communicators(kRanks, [&](Communicator& communicator) {
      TestWorker worker(communicator, spec, options);
      for (std::uint64_t step = 0; step < kEnd; ++step) {
        if (step == kCut) {
          states[communicator.rank()] = to_bytes(worker.method().save());
          halfway[communicator.rank()] = worker.model();
        }
        worker.step(step);
      }
      models[communicator.rank()] = worker.model();
      last_states[communicator.rank()] = to_bytes(worker.method().save());
    });
    run_communicators(kRanks, [&](Communicator& communicator) {
      TestWorker worker(communicator, spec, options);
      worker.step(0);  // so that there is something to forget
      worker.set_model(halfway[communicator.rank()]);
      worker.method().load(parse_state(states[communicator.rank()]).value());
      EXPECT_EQ(to_bytes(worker.method().save()), states[communicator.rank()]);
      for (std::uint64_t step = kCut; step < kEnd; ++step) worker.step(step);
      resumed[communicator.rank()] = worker.model();
      EXPECT_EQ(to_bytes(worker.method().save()), last_states[communicator.rank()]);
    });
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      EXPECT_TRUE(same_bits(models[rank], resumed[rank])) << rank;
    }
  });
}

// The mean over workers of a memory, and of the mean that owners or all ranks hold of it.
std::map<std::string, std::vector<double>> means_of(const std::vector<MethodState>& states) {
  std::map<std::string, std::vector<double>> means;
  std::map<std::string, double> shares;
  for (const MethodState& state : states) {
    for (const StateArray& array : state.arrays) {
      const std::string key = array.memory + " of " + array.tensor;
      const double share =
          array.sharing == Sharing::owner ? 1.0 : 1.0 / static_cast<double>(states.size());
      std::vector<double>& mean = means[key];
      mean.resize(std::max(mean.size(), array.first + array.values.size()));
      for (std::size_t i = 0; i < array.values.size(); ++i) {
        mean[array.first + i] += share * double{array.values[i]};
      }
    }
  }
  return means;
}

TEST(MethodThreads, AnotherNumberOfRanksKeepsTheMeansAndGoesOn) {
  const TestDirectory directory;
  for (const std::string& spec : test_specs()) {
    SCOPED_TRACE(spec);
    std::vector<MethodState> before(4), after(3);
    const auto folder = directory / std::to_string(std::hash<std::string>()(spec));
    std::filesystem::create_directory(folder);
    const MethodOptions options{.topology = Topology::scatter, .seed = 3, .group_elements = 1000};
    run_communicators(4, [&](Communicator& communicator) {
      TestWorker worker(communicator, spec, options);
      for (std::uint64_t step = 0; step < 12; ++step) worker.step(step);
      save_method(worker.method(), folder, communicator.rank(), communicator.size());
      before[communicator.rank()] = worker.method().save();
    });
    std::vector<Model> models(3);
    run_communicators(3, [&](Communicator& communicator) {
      TestWorker worker(communicator, spec, options);
      load_method(worker.method(), folder, communicator.rank(), communicator.size());
      after[communicator.rank()] = worker.method().save();
      for (std::uint64_t step = 12; step < 20; ++step) {
        const MethodReport report = worker.step(step);
        EXPECT_EQ(report.poisoned, 0u);
        if (step == 12) {
          EXPECT_EQ(report.uploads, 1u);  // lazy or not
        }
      }
      models[communicator.rank()] = worker.model();
    });
    EXPECT_TRUE(same_bits(models[0], models[1]) && same_bits(models[0], models[2]));
    const auto old_means = means_of(before), new_means = means_of(after);
    ASSERT_EQ(old_means.size(), new_means.size());
    for (const auto& [key, mean] : old_means) {
      for (std::size_t i = 0; i < mean.size(); ++i) {
        ASSERT_NEAR(mean[i], new_means.at(key)[i], 1e-6 * (1 + std::abs(mean[i]))) << key;
      }
    }
  }
}

TEST(MethodThreads, PoisonCommitsNothingAnywhere) {
  constexpr std::size_t kOneGroup = std::size_t{1} << 20;
  for_methods(
      [](const std::string& spec, const MethodOptions& options) {
        if (!runs_on(spec, options)) return;
        run_communicators(kRanks, [&](Communicator& communicator) {
          TestWorker clean(communicator, spec, options);
          TestWorker hit(communicator, spec, options);
          for (std::uint64_t step = 0; step < 6; ++step) {
            clean.step(step);
            if (step == 2 || step == 4) {
              const auto before = to_bytes(hit.method().save());
              const bool poison = communicator.rank() == (step == 2 ? 0u : 2u);
              EXPECT_EQ(hit.step(step, poison).poisoned, 1u);
              EXPECT_FALSE(std::isfinite(hit.output()[0][5])) << spec << name(options.topology);
              EXPECT_EQ(to_bytes(hit.method().save()), before);
            }
            hit.step(step);  // again, and good this time
            EXPECT_TRUE(same_bits(clean.model(), hit.model())) << step;
          }
        });
      },
      kOneGroup);
}

TEST(MethodThreads, PoisonOfOneGroupLeavesTheOthersAlone) {
  run_communicators(2, [&](Communicator& communicator) {
    TestWorker worker(communicator, "ef(topk(10%))", {.group_elements = 1000});
    worker.step(0);
    const MethodReport report = worker.step(1, communicator.rank() == 1);
    EXPECT_EQ(report.exchanges, 3u);  // w1; b1, none and w2; b2
    EXPECT_EQ(report.poisoned, 1u);
    EXPECT_TRUE(std::isnan(worker.output()[0][0]));
    EXPECT_FALSE(std::isnan(worker.output()[1][0]));
  });
}

TEST(MethodThreads, RefusesAStateThatIsNotItsOwnAndSaysWhy) {
  run_communicators(2, [](Communicator& communicator) {
    TestWorker worker(communicator, "ef(topk(10%))", {});
    auto tensors = test_tensors();
    tensors[0].shape = {30, 40};
    tensors[1].name = "bias";
    TestWorker other(communicator, "ef(topk(10%))", {}, tensors);
    try {
      other.method().load(worker.method().save());
      ADD_FAILURE();
    } catch (const Error& error) {
      const std::string what = error.what();
      EXPECT_NE(what.find("'w1' has shape [30, 40], saved with [40, 30]"), what.npos) << what;
      EXPECT_NE(what.find("'bias'"), what.npos) << what;
      EXPECT_NE(what.find("'b1'"), what.npos) << what;
    }
    TestWorker method(communicator, "ef21(topk(10%))", {});
    EXPECT_THROW(method.method().load(worker.method().save()), Error);
  });
}

TEST(MethodThreads, AServerThatOnlyAveragedCannotTakeUpAWorkersPlace) {
  run_communicators(3, [](Communicator& communicator) {
    MethodOptions options{.topology = Topology::server, .server = 1, .server_contributes = false};
    TestWorker dedicated(communicator, "diana(natural)", options);
    dedicated.step(0);
    options.server_contributes = true;
    TestWorker contributing(communicator, "diana(natural)", options);
    if (communicator.rank() == 1) {
      EXPECT_THROW(contributing.method().load(dedicated.method().save()), Error);
    } else {
      contributing.method().load(dedicated.method().save());
    }
  });
}

TEST(MethodThreads, MisuseIsNamed) {
  run_communicators(1, [](Communicator& communicator) {
    const auto method = make_method(communicator, {{"a", {3}}, {"b", {2}}}, "ef(natural)", {});
    std::vector<float> a(3), b(2);
    EXPECT_THROW(method->submit(0, a), Error);
    method->begin({});
    EXPECT_THROW(method->begin({}), Error);
    EXPECT_THROW(method->submit(1, b), Error);
    EXPECT_THROW(method->submit(0, b), Error);
    method->submit(0, a);
    EXPECT_THROW(method->finish(), Error);
    method->submit(1, b);
    method->finish();
    const auto lazy = make_method(communicator, {{"a", {3}}}, "sasg(topk(50%))", {});
    EXPECT_THROW(lazy->begin({}), Error);
  });
}

TEST(MethodThreads, AStepThatIsAbandonedHarmsNobody) {
  run_communicators(2, [](Communicator& communicator) {
    std::vector<float> a(3000, 1.0F), b(10, 1.0F);
    const auto method = make_method(communicator, {{"a", {3000}}, {"b", {10}}}, "diana(natural)",
                                    {.group_elements = 1000});
    method->begin({});
    method->submit(0, a);
  });
}

TEST(MethodThreads, RescalingScalesMemories) {
  for (const std::string spec :
       {"ef(topk(10%))", "diana(natural)", "dgc(5%)", "powersgd(rank=2)"}) {
    run_communicators(2, [&](Communicator& communicator) {
      TestWorker worker(communicator, spec, {});
      worker.step(0);
      const MethodState before = worker.method().save();
      worker.method().rescale(4);
      const MethodState after = worker.method().save();
      for (std::size_t i = 0; i < before.arrays.size(); ++i) {
        const bool is_gradient = before.arrays[i].memory != "warm start";
        for (std::size_t j = 0; is_gradient && j < before.arrays[i].values.size(); ++j) {
          ASSERT_EQ(4 * before.arrays[i].values[j], after.arrays[i].values[j]);
        }
      }
    });
  }
}

}  // namespace
}  // namespace gradwire
