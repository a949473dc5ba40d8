#include "gradwire/method/lgc/lgc.h"

#include "gradwire/core/error.h"
#include "gradwire/method/lgc/tensor_roles.h"
#include "gradwire/method/lgc/test_support.h"
#include "gradwire/method/parsed_method.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

constexpr std::size_t kRanks = 3;
constexpr std::uint64_t kFull = 2;
constexpr std::uint64_t kCoded = 6;  // the first coded step; one in three of the next learns

// Through all phases in a few steps, whatever the error.
std::string quick(const std::string& instance, const std::string& more = "") {
  return "lgc(" + instance + ", share=5%, full=2, sparse=4, error=5, refresh=3" + more + ')';
}
std::vector<std::string> quick_specs() {
  return {quick("ring"),
          quick("server"),
          quick("ring", ", code=plain"),
          quick("ring", ", values=natural"),
          quick("ring", ", code=deep"),
          quick("server", ", code=deep, channels=4")};
}

std::vector<Topology> topologies_of(const std::string& spec) {
  std::vector<Topology> topologies = {Topology::automatic, Topology::gather, Topology::server};
  const bool is_ring = spec.starts_with("lgc(ring") && spec.find("deep") == std::string::npos;
  if (is_ring) topologies.push_back(Topology::ring);
  return topologies;
}

void append(const LayerGradients& gradients, std::vector<float>& all) {
  for (const std::vector<float>& values : gradients.values) {
    all.insert(all.end(), values.begin(), values.end());
  }
}

std::string phase_of(const MethodReport& report) { return text_of(report.note->get("phase")); }

TEST(LgcSpec, TextsAreCanonical) {
  EXPECT_EQ(parse_method("lgc(ring)").spec, "lgc(ring)");
  EXPECT_EQ(parse_method("lgc( server , share=0.01)").spec, "lgc(server)");
  EXPECT_EQ(parse_method("lgc(ring, bits=1, share=0.1%, full=0)").spec,
            "lgc(ring, share=0.1%, full=0, bits=1)");
  EXPECT_EQ(parse_method("lgc(ring, code=deep, channels=4, bits=2)").spec,
            "lgc(ring, code=deep, channels=4)");
  for (const char* text :
       {"lgc", "lgc(star)", "lgc(3)", "lgc(ring, share=0)", "lgc(ring, share=80%)",
        "lgc(ring, bits=9)", "lgc(ring, channels=17)", "lgc(ring, code=none)",
        "lgc(server, code=plain)", "lgc(ring, code=plain, channels=8)",
        "lgc(ring, innovation=natural)", "lgc(ring, values=topk(1%))", "lgc(ring, full=-1)",
        "lgc(ring, speed=3)", "lgc(ring) | natural", "lgc(ring | natural)", "lgc(ring(share=1%))",
        "lgc(server, innovation=sign(scale=off))"}) {
    EXPECT_THROW(parse_method(text), SpecError) << text;
  }
}

TEST(LgcTensors, TheFirstLayerIsDenseAndTheLastIsNotCoded) {
  const std::vector<TensorRole> wanted = {TensorRole::last,  TensorRole::dense, TensorRole::coded,
                                          TensorRole::coded, TensorRole::dense, TensorRole::dense};
  EXPECT_EQ(tensor_roles(layer_tensors()), wanted);
  // A large first layer is coded, too.
  EXPECT_EQ(tensor_roles({{"b", {10, 100}}, {"a", {100, 784}}}),
            (std::vector<TensorRole>{TensorRole::last, TensorRole::coded}));
  EXPECT_EQ(tensor_roles({{"a", {100, 784}}}), (std::vector<TensorRole>{TensorRole::coded}));
  EXPECT_EQ(tensor_roles({}), std::vector<TensorRole>());
}

TEST(LgcThreads, AllPhasesEndTheSameOnAllRanksAndTopologies) {
  for (const std::string& spec : quick_specs()) {
    std::vector<float> of_first;  // topology
    for (const Topology topology : topologies_of(spec)) {
      std::vector<std::vector<float>> outputs(kRanks);
      std::vector<float> coded;  // of coded layers, on rank 0
      run_communicators(kRanks, [&](Communicator& communicator) {
        const std::size_t rank = communicator.rank();
        const auto method = make(communicator, spec, topology);
        for (std::uint64_t step = 0; step < 14; ++step) {
          LayerGradients gradients(rank, step);
          const MethodReport report = method->run({.step = step}, gradients.spans);
          append(gradients, outputs[rank]);
          if (step >= kFull && rank == 0) {
            for (const std::size_t layer : {2, 3}) {
              const std::vector<float>& values = gradients.values[layer];
              coded.insert(coded.end(), values.begin(), values.end());
            }
          }
          ASSERT_TRUE(report.note);
          EXPECT_EQ(phase_of(report), step < kFull ? "full" : step < kCoded ? "sparse" : "coded");
          std::uint64_t bytes = 0;
          for (const auto& part : report.note->rows) {
            EXPECT_LE(std::get<std::uint64_t>(part[1]), report.traffic.bytes_sent);
            bytes += std::get<std::uint64_t>(part[1]);
          }
          EXPECT_EQ(bytes, report.traffic.bytes_sent) << spec << ' ' << step;
        }
      });
      for (std::size_t rank = 1; rank < kRanks; ++rank) EXPECT_EQ(outputs[0], outputs[rank]);
      // Which way codes go makes no difference to the bit.
      if (of_first.empty()) of_first = coded;
      EXPECT_EQ(of_first, coded) << spec << ' ' << name(topology);
    }
  }
}

// What came out and what is remembered are all that went in.
TEST(LgcThreads, NothingOfCodedLayersIsLost) {
  for (const std::string& spec : quick_specs()) {
    for (const Topology topology : topologies_of(spec)) {
      constexpr std::size_t kLayer = 2;
      std::vector<std::vector<double>> went_in(kRanks);
      std::vector<double> came_out;
      std::vector<MethodState> states(kRanks);
      run_communicators(kRanks, [&](Communicator& communicator) {
        const std::size_t rank = communicator.rank();
        const auto method = make(communicator, spec, topology);
        std::vector<double> in(LayerGradients(rank, 0).values[kLayer].size());
        std::vector<double> out(in.size());
        for (std::uint64_t step = 0; step < 17; ++step) {
          LayerGradients gradients(rank, step);
          const float weight = rank == 0 ? 1.5F : 0.75F;
          for (std::size_t i = 0; i < in.size(); ++i) {
            in[i] += double{weight} * double{gradients.values[kLayer][i]};
          }
          method->run({.step = step, .weight = weight}, gradients.spans);
          for (std::size_t i = 0; i < in.size(); ++i) out[i] += double{gradients.values[kLayer][i]};
        }
        went_in[rank] = in;
        if (rank == 0) came_out = out;
        states[rank] = method->save();
      });
      double largest = 1;
      for (std::size_t rank = 0; rank < kRanks; ++rank) {
        for (const StateArray& array : states[rank].arrays) {
          if (array.memory != "error" || array.tensor != layer_tensors()[kLayer].name) continue;
          for (std::size_t i = 0; i < came_out.size(); ++i) {
            largest = std::max(largest, std::abs(double{array.values[i]}));
            came_out[i] += double{array.values[i]} / double{kRanks};
            came_out[i] -= went_in[rank][i] / double{kRanks};
          }
        }
      }
      for (const double rest : came_out) EXPECT_NEAR(rest, 0, 2e-6 * largest) << spec;
    }
  }
}

TEST(LgcThreads, GoesOnToTheBitInEveryPhase) {
  for (const std::string& spec : quick_specs()) {
    for (const std::uint64_t saved_at : {1, 4, 8, 11}) {
      std::vector<std::vector<float>> straight(kRanks);
      std::vector<std::vector<float>> resumed(kRanks);
      run_communicators(kRanks, [&](Communicator& communicator) {
        const std::size_t rank = communicator.rank();
        auto method = make(communicator, spec);
        auto other = make(communicator, spec);
        for (std::uint64_t step = 0; step < 15; ++step) {
          if (step == saved_at) {
            const auto bytes = to_bytes(method->save());
            const auto state = parse_state(bytes);
            ASSERT_TRUE(state.has_value());
            other->load(*state);
          }
          LayerGradients gradients(rank, step);
          method->run({.step = step}, gradients.spans);
          if (step < saved_at) continue;
          append(gradients, straight[rank]);
          LayerGradients again(rank, step);
          other->run({.step = step}, again.spans);
          append(again, resumed[rank]);
        }
        EXPECT_EQ(method->save(), other->save()) << spec;
      });
      for (std::size_t rank = 0; rank < kRanks; ++rank) {
        EXPECT_EQ(straight[rank], resumed[rank]) << spec << ' ' << saved_at;
      }
    }
  }
}

TEST(LgcThreads, PoisonLeavesTheMemoryAsItWas) {
  for (const std::string& spec : {quick("ring"), quick("server")}) {
    for (std::size_t poisoner = 0; poisoner < kRanks; ++poisoner) {
      run_communicators(kRanks, [&](Communicator& communicator) {
        const auto method = make(communicator, spec);
        for (std::uint64_t step = 0; step < 10; ++step) {
          const bool is_bad = step == 1 || step == 4 || step == 8;
          const MethodState before = method->save();
          LayerGradients gradients(communicator.rank(), step);
          if (is_bad && communicator.rank() == poisoner) {
            gradients.values[2][77] = step == 8 ? std::nanf("") : INFINITY;
          }
          const MethodReport report = method->run({.step = step}, gradients.spans);
          EXPECT_EQ(report.poisoned > 0, is_bad);
          if (!is_bad) continue;
          for (const float value : gradients.values[2]) {
            EXPECT_TRUE(step < kFull || std::isnan(value));
          }
          const MethodState after = method->save();
          for (std::size_t i = 0; i < before.arrays.size(); ++i) {
            if (before.arrays[i].tensor == "last") continue;  // it had nothing to do with it
            EXPECT_EQ(before.arrays[i], after.arrays[i]);
          }
        }
      });
    }
  }
}

TEST(LgcThreads, StatesAreDealtOutToOtherRanks) {
  for (const std::string& spec : {quick("ring"), quick("server")}) {
    std::vector<MethodState> states(kRanks);
    run_communicators(kRanks, [&](Communicator& communicator) {
      const auto method = make(communicator, spec);
      for (std::uint64_t step = 0; step < 9; ++step) {
        LayerGradients gradients(communicator.rank(), step);
        method->run({.step = step}, gradients.spans);
      }
      states[communicator.rank()] = method->save();
    });
    run_communicators(2, [&](Communicator& communicator) {
      const auto method = make(communicator, spec);
      method->load(reshare(states, communicator.rank(), 2));
      LayerGradients gradients(communicator.rank(), 9);
      const MethodReport report = method->run({.step = 9}, gradients.spans);
      // A decoder for each of the old ranks is of no use: that code is learned again.
      EXPECT_EQ(phase_of(report), spec.starts_with("lgc(ring") ? "coded" : "sparse");
    });
  }
}

TEST(LgcThreads, ACodedMessageIsMuchSmallerThanExactValues) {
  for (const std::string instance : {"ring", "server"}) {
    run_communicators(kRanks, [&](Communicator& communicator) {
      const auto method = make(communicator, "lgc(" + instance +
                                                 ", share=20%, full=0, sparse=3, "
                                                 "error=5, refresh=0)");
      std::uint64_t exact = 0;
      std::uint64_t coded = 0;
      for (std::uint64_t step = 0; step < 3 + kRanks; ++step) {
        LayerGradients gradients(communicator.rank(), step);
        const MethodReport report = method->run({.step = step}, gradients.spans);
        for (const auto& part : report.note->rows) {
          if (text_of(part[0]) == "values") exact += std::get<std::uint64_t>(part[1]);
          if (text_of(part[0]) == "codes") coded += std::get<std::uint64_t>(part[1]);
        }
      }
      EXPECT_LT(8 * coded, exact);
    });
  }
}

// The code has learned that ranks agree with the leader; then they do not any more.
TEST(LgcThreads, LeavesTheCodeOnAllRanksAtOnceWhenItIsNotGoodEnough) {
  std::vector<std::string> phases(kRanks);
  std::vector<std::string> remarks(kRanks);
  run_communicators(kRanks, [&](Communicator& communicator) {
    const std::size_t rank = communicator.rank();
    const auto method =
        make(communicator, "lgc(ring, share=5%, full=0, sparse=30, error=0.2, bits=0.5)");
    for (std::uint64_t step = 0; step < 120; ++step) {
      LayerGradients gradients(step < 60 ? 0 : rank, step);
      const LayerGradients other(rank + kRanks, step);
      for (std::size_t i = 0; step >= 60 && i < other.values.size(); ++i) {
        for (std::size_t j = 0; j < other.values[i].size(); ++j) {
          gradients.values[i][j] -= other.values[i][j];  // what all have in common is gone
        }
      }
      const MethodReport report = method->run({.step = step}, gradients.spans);
      phases[rank] += phase_of(report)[0];
      remarks[rank] += report.note->line();
    }
  });
  EXPECT_NE(phases[0].find("sc"), std::string::npos) << phases[0];
  EXPECT_NE(phases[0].find("cs"), std::string::npos) << phases[0];
  EXPECT_NE(remarks[0].find("back to exact values"), std::string::npos) << remarks[0];
  for (std::size_t rank = 1; rank < kRanks; ++rank) EXPECT_EQ(phases[rank], phases[0]);
}

TEST(LgcThreads, WhatCannotBeIsRefused) {
  run_communicators(2, [](Communicator& communicator) {
    const auto refused = [&](const std::string& spec, std::vector<MethodTensor> tensors,
                             const MethodOptions& options) {
      EXPECT_THROW(make_method(communicator, std::move(tensors), spec, options), Error) << spec;
    };
    refused("lgc(ring)", {{"a", {100}}}, {});
    refused("lgc(ring)", layer_tensors(), {.topology = Topology::scatter});
    refused("lgc(server)", layer_tensors(), {.topology = Topology::ring});
    refused("lgc(ring, code=deep)", layer_tensors(), {.topology = Topology::ring});
    refused("lgc(ring)", layer_tensors(),
            {.topology = Topology::server, .server_contributes = false});
  });
}

TEST(LgcThreads, AStateOfAnotherKindIsRefused) {
  run_communicators(2, [](Communicator& communicator) {
    const auto method = make(communicator, quick("ring"));
    const MethodState good = method->save();
    MethodState state = good;
    state.spec = "lgc(server)";
    EXPECT_THROW(method->load(state), Error);
    state = good;
    std::erase_if(state.arrays, [](const StateArray& array) { return array.memory == "code"; });
    EXPECT_THROW(method->load(state), Error);
    state = good;
    for (StateArray& array : state.arrays) array.values.resize(3);
    EXPECT_THROW(method->load(state), Error);
    state = good;
    state.numbers.clear();
    EXPECT_THROW(method->load(state), Error);
    method->load(good);
  });
}

}  // namespace
}  // namespace gradwire
