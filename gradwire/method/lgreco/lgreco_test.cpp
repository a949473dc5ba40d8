#include "gradwire/method/lgreco/lgreco.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "gradwire/collective/test_support.h"
#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gradwire/method/parsed_method.h"
#include "gradwire/method/powersgd/powersgd_test_support.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

// Layers that differ in size, in scale and in how fast their values fall off.
std::vector<MethodTensor> layers() {
  return {{"first", {16, 27}}, {"bias", {16}},    {"wide", {32, 144}},
          {"deep", {64, 48}},  {"small", {4, 8}}, {"last", {10, 64}}};
}

// Other ones on every rank and at every step; `sharpness` says how fast the values fall off.
Gradients layer_gradients(std::size_t rank, std::uint64_t step, int sharpness = 1) {
  const std::vector<MethodTensor> tensors = layers();
  Gradients gradients = step_gradients(tensors, rank, step);
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const float scale = std::ldexp(1.0F, -static_cast<int>(t));
    for (float& value : gradients.values[t]) {
      float shaped = value;
      for (int i = 0; i < sharpness * static_cast<int>(t % 3); ++i) shaped *= value * value;
      value = scale * shaped;
    }
  }
  return gradients;
}

std::unique_ptr<Method> make(Communicator& communicator, const std::string& spec,
                             Topology topology = Topology::scatter) {
  return make_method(communicator, layers(), spec, {.topology = topology, .seed = 3});
}

// With plans at steps 3, 8, 13 and so on.
std::string often(const std::string& family) {
  return "lgreco(" + family + ", warmup=3, period=5, window=2)";
}

TEST(LgrecoSpec, TextsAreCanonical) {
  EXPECT_EQ(parse_method("lgreco(topk(1%))").spec, "lgreco(topk)");
  EXPECT_EQ(parse_method("lgreco(family=topk(2%), alpha=1)").spec, "lgreco(topk(2%))");
  EXPECT_EQ(parse_method("lgreco(powersgd(rank=7))").spec, "lgreco(powersgd(rank=7))");
  EXPECT_EQ(parse_method("lgreco(any, uniform=qsgd(bits=4))").spec, "lgreco(any)");
  EXPECT_EQ(parse_method("lgreco(any, uniform=topk(1%), budget=hide, guard=off)").spec,
            "lgreco(any, uniform=topk(1%), budget=hide, guard=off)");
  EXPECT_EQ(parse_method("lgreco(qsgd, before=none, warmup=9, error=squares)").spec,
            "lgreco(qsgd, error=squares, warmup=9, before=none)");
  for (const char* text :
       {"lgreco", "lgreco(natural)", "lgreco(none)", "lgreco(any(1))", "lgreco(topk, window=300)",
        "lgreco(qsgd, uniform=topk(1%))", "lgreco(topk, alpha=0)", "lgreco(qsgd, guard=0.5)",
        "lgreco(any, budget=hide, alpha=2)", "lgreco(topk | natural)", "lgreco(qsgd(bits=99))"}) {
    EXPECT_THROW(parse_method(text), SpecError) << text;
  }
  EXPECT_NE(message_of<SpecError>([] {
              parse_method("lgreco(tpok)");
            }).find("known are qsgd, topk, powersgd and any"),
            std::string::npos);
}

double number(const Note& plan, const char* field) { return number_of(plan.get(field)).value(); }

TEST(LgrecoThreads, ResultsAndPlansAreTheSameOnAllRanks) {
  constexpr std::size_t kRanks = 3;
  for (const char* family : {"qsgd", "topk", "powersgd", "any"}) {
    for (const Topology topology : {Topology::scatter, Topology::gather, Topology::server}) {
      std::vector<std::vector<float>> outputs(kRanks);
      std::vector<std::string> plans(kRanks);
      run_communicators(kRanks, [&](Communicator& communicator) {
        const std::size_t rank = communicator.rank();
        const auto method = make(communicator, often(family), topology);
        for (std::uint64_t step = 0; step < 12; ++step) {
          Gradients gradients = layer_gradients(rank, step);
          const MethodReport report = method->run({.step = step}, gradients.spans);
          append(gradients, outputs[rank]);
          EXPECT_EQ(report.uploads, 1U);
          EXPECT_EQ(report.note != nullptr, step == 3 || step == 8) << step;
          if (!report.note) continue;
          const Note& plan = *report.note;
          for (std::size_t i = 0; i < plan.rows.size(); ++i) {
            plans[rank] += text_of(plan.cell(i, "choice")) + ' ';
          }
          EXPECT_LE(number(plan, "bytes"), number(plan, "uniform_bytes"));
          EXPECT_LE(number(plan, "error"), number(plan, "uniform_error") * (1 + 1e-12));
          EXPECT_GT(number(plan, "planning_ms"), 0);
        }
      });
      for (std::size_t rank = 1; rank < kRanks; ++rank) {
        EXPECT_TRUE(same_bits(outputs[0], outputs[rank])) << family << ' ' << name(topology);
        EXPECT_EQ(plans[0], plans[rank]) << family;
      }
    }
  }
}

TEST(LgrecoThreads, VectorsAndSmallTensorsAreAveragedAsTheyAre) {
  run_communicators(2, [](Communicator& communicator) {
    const auto method = make(communicator, often("any"));
    for (std::uint64_t step = 0; step < 7; ++step) {
      Gradients gradients = layer_gradients(communicator.rank(), step);
      const Gradients first = layer_gradients(0, step);
      const Gradients second = layer_gradients(1, step);
      const MethodReport report = method->run({.step = step}, gradients.spans);
      for (const std::size_t tensor : {1, 4}) {
        for (std::size_t i = 0; i < gradients.values[tensor].size(); ++i) {
          EXPECT_FLOAT_EQ(gradients.values[tensor][i],
                          (first.values[tensor][i] + second.values[tensor][i]) / 2);
        }
        if (!report.note) continue;
        EXPECT_EQ(text_of(report.note->cell(tensor, "choice")), "none");
      }
    }
  });
}

// What came out so far and what is remembered are all that went in, also when plans change.
TEST(LgrecoThreads, MemoriesSurviveAChangeOfPlan) {
  constexpr std::size_t kRanks = 3;
  for (const char* family : {"topk", "powersgd"}) {
    std::vector<MethodState> states(kRanks);
    std::vector<double> went_in;
    std::vector<double> came_out;
    std::size_t plans = 0;
    run_communicators(kRanks, [&](Communicator& communicator) {
      const std::size_t rank = communicator.rank();
      const auto method = make(communicator, often(family));
      std::vector<double> in;
      std::vector<double> out;
      for (std::uint64_t step = 0; step < 14; ++step) {
        Gradients gradients = layer_gradients(rank, step, step < 7 ? 0 : 2);
        std::vector<float> all;
        for (std::size_t r = 0; r < kRanks; ++r) {
          all.clear();
          append(layer_gradients(r, step, step < 7 ? 0 : 2), all);
          in.resize(all.size());
          for (std::size_t i = 0; i < all.size(); ++i) in[i] += double{all[i]} / kRanks;
        }
        const MethodReport report = method->run({.step = step}, gradients.spans);
        all.clear();
        append(gradients, all);
        out.resize(all.size());
        for (std::size_t i = 0; i < all.size(); ++i) out[i] += double{all[i]};
        if (rank == 0 && report.note) ++plans;
      }
      states[rank] = method->save();
      if (rank == 0) {
        went_in = in;
        came_out = out;
      }
    });
    EXPECT_GE(plans, 2U);
    std::size_t offset = 0;
    for (const MethodTensor& tensor : layers()) {
      for (const MethodState& state : states) {
        for (const StateArray& array : state.arrays) {
          if (array.tensor != tensor.name) continue;
          const bool is_error = array.memory == "error";
          if (!is_error && array.memory != "downlink error") continue;
          for (std::size_t i = 0; i < array.values.size(); ++i) {
            came_out[offset + array.first + i] +=
                double{array.values[i]} / (is_error ? double{kRanks} : 1);
          }
        }
      }
      offset += tensor.elements();
    }
    for (std::size_t i = 0; i < went_in.size(); ++i) {
      EXPECT_NEAR(came_out[i], went_in[i], 1e-4) << family << ' ' << i;
    }
  }
}

TEST(LgrecoThreads, AStateGoesOnToTheBit) {
  for (const char* family : {"qsgd", "topk", "powersgd", "any"}) {
    run_communicators(3, [&](Communicator& communicator) {
      const std::size_t rank = communicator.rank();
      const auto whole = make(communicator, often(family));
      // Within a window, behind a plan, and between.
      for (const std::uint64_t stop : {2, 4, 6, 9}) {
        const auto first = make(communicator, often(family));
        for (std::uint64_t step = 0; step < stop; ++step) {
          Gradients gradients = layer_gradients(rank, step);
          first->run({.step = step}, gradients.spans);
        }
        const MethodState state = first->save();
        const auto parsed = parse_state(to_bytes(state));
        ASSERT_TRUE(parsed.has_value());
        const auto second = make(communicator, often(family));
        second->load(*parsed);
        EXPECT_EQ(second->save(), state);
        for (std::uint64_t step = stop; step < stop + 8; ++step) {
          Gradients one = layer_gradients(rank, step);
          Gradients two = layer_gradients(rank, step);
          first->run({.step = step}, one.spans);
          second->run({.step = step}, two.spans);
          for (std::size_t t = 0; t < one.values.size(); ++t) {
            EXPECT_TRUE(same_bits(one.values[t], two.values[t])) << family << ' ' << stop;
          }
        }
        EXPECT_EQ(second->save(), first->save());
      }
    });
  }
}

TEST(LgrecoThreads, AWrongStateIsRefusedAndChangesNothing) {
  run_communicators(2, [](Communicator& communicator) {
    const auto method = make(communicator, often("topk"));
    const MethodState good = method->save();
    MethodState no_choice = good;
    no_choice.numbers.erase("choice of wide");
    MethodState wrong_choice = good;
    wrong_choice.numbers["choice of wide"] = 1e6;
    MethodState no_error = good;
    std::erase_if(no_error.arrays, [](const StateArray& array) { return array.tensor == "deep"; });
    MethodState other = good;
    other.spec = "lgreco(qsgd)";
    MethodState other_step = good;
    other_step.numbers["steps"] = 2;
    MethodState long_ago = good;
    long_ago.numbers["steps"] = 1e9;
    for (const MethodState& wrong :
         {no_choice, wrong_choice, no_error, other, other_step, long_ago}) {
      EXPECT_THROW(method->load(wrong), Error);
      EXPECT_EQ(method->save(), good);
    }
  });
}

TEST(LgrecoThreads, TheGuardPlansAgain) {
  run_communicators(2, [](Communicator& communicator) {
    const auto method =
        make(communicator, "lgreco(topk, warmup=4, period=400, window=2, guard=1.5)");
    std::vector<std::uint64_t> planned_at;
    std::string reason;
    for (std::uint64_t step = 0; step < 210; ++step) {
      // Hardly anything but a few values at first, and then values of one size.
      Gradients gradients = layer_gradients(communicator.rank(), step);
      for (auto& values : gradients.values) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i] = std::copysign(step < 30 && i % 300 != 0 ? 1e-3F : 1.0F, values[i]);
        }
      }
      const MethodReport report = method->run({.step = step}, gradients.spans);
      if (!report.note) continue;
      planned_at.push_back(step);
      reason = text_of(report.note->get("reason"));
    }
    ASSERT_GE(planned_at.size(), 2U);
    EXPECT_EQ(planned_at[0], 4U);
    EXPECT_EQ(planned_at[1], 104U);  // the first look
    EXPECT_NE(reason.find("was promised"), std::string::npos) << reason;
  });
}

TEST(LgrecoThreads, ATimeBudgetIsUsedUp) {
  run_communicators(2, [](Communicator& communicator) {
    const auto method =
        make(communicator, "lgreco(any, budget=hide, warmup=2, period=50, window=2)");
    std::shared_ptr<const Note> plan;
    for (std::uint64_t step = 0; step < 3; ++step) {
      Gradients gradients = layer_gradients(communicator.rank(), step);
      method->begin({.step = step});
      for (std::size_t i = 0; i < gradients.spans.size(); ++i) {
        method->submit(i, gradients.spans[i]);
        std::this_thread::sleep_for(std::chrono::milliseconds(40));
      }
      const MethodReport report = method->finish();
      if (report.note) plan = report.note;
    }
    ASSERT_NE(plan, nullptr);
    ASSERT_TRUE(number_of(plan->get("budget.groups")).has_value());
    EXPECT_GT(number(*plan, "budget.compute_ms"), 150);
    EXPECT_GT(number(*plan, "budget.link_bytes_per_second"), 0);
    EXPECT_LE(number(*plan, "budget.hidden_ms"), number(*plan, "budget.hidden_room_ms"));
    // Between threads there is time enough for everything.
    EXPECT_EQ(number(*plan, "error"), 0);
  });
}

TEST(LgrecoThreads, WhatIsNotFiniteKeepsThePlan) {
  run_communicators(2, [](Communicator& communicator) {
    const auto method = make(communicator, often("topk"));
    for (std::uint64_t step = 0; step < 9; ++step) {
      Gradients gradients = layer_gradients(communicator.rank(), step);
      const bool is_bad = step == 7 && communicator.rank() == 1;
      if (is_bad) gradients.values[2][5] = std::numeric_limits<float>::infinity();
      const MethodReport report = method->run({.step = step}, gradients.spans);
      EXPECT_EQ(report.poisoned > 0, step == 7) << step;
      if (step != 8) continue;
      ASSERT_NE(report.note, nullptr);
      EXPECT_EQ(text_of(report.note->get("reason")),
                "No new plan: the gradients are not finite, or too large for low rank.");
      EXPECT_TRUE(std::isfinite(gradients.values[2][5]));
    }
  });
}

TEST(LgrecoThreads, WhatCannotWorkIsRefused) {
  run_communicators(2, [](Communicator& communicator) {
    const auto refusal = [&](const std::string& spec, const MethodOptions& options) {
      return message_of<Error>([&] { make_method(communicator, layers(), spec, options); });
    };
    EXPECT_NE(refusal("lgreco(topk)", {.topology = Topology::server, .server_contributes = false})
                  .find("needs gradients on the server"),
              std::string::npos);
    EXPECT_NE(refusal("lgreco(any)", {.topology = Topology::ring}).find("take scatter"),
              std::string::npos);
    const std::string nothing = message_of<Error>([&] {
      make_method(communicator, {{"only", {5000}}}, "lgreco(topk)", {});
    });
    EXPECT_NE(nothing.find("has nothing to plan"), std::string::npos) << nothing;
  });
}

// A plan that could not be made is tried again after a window, not after a whole period.
TEST(LgrecoThreads, APlanThatFailedIsTriedAgainSoon) {
  run_communicators(2, [](Communicator& communicator) {
    const auto method = make(communicator, "lgreco(topk, warmup=4, period=100, window=2)");
    std::vector<std::uint64_t> planned_at;
    for (std::uint64_t step = 0; step < 12; ++step) {
      Gradients gradients = layer_gradients(communicator.rank(), step);
      if (step == 3) gradients.values[2][5] = std::numeric_limits<float>::quiet_NaN();
      const MethodReport report = method->run({.step = step}, gradients.spans);
      if (report.note) planned_at.push_back(step);
      EXPECT_EQ(report.poisoned > 0, step == 3) << step;
    }
    EXPECT_EQ(planned_at, (std::vector<std::uint64_t>{4, 6}));
  });
}

// What ranks tell one another for a plan travels, too.
TEST(LgrecoThreads, PlanningIsInTheByteCount) {
  run_communicators(2, [](Communicator& communicator) {
    const auto method = make(communicator, "lgreco(qsgd, warmup=4, period=100, window=2)");
    std::vector<std::uint64_t> bytes;
    for (std::uint64_t step = 0; step < 6; ++step) {
      Gradients gradients = layer_gradients(communicator.rank(), step);
      bytes.push_back(method->run({.step = step}, gradients.spans).traffic.bytes_sent);
    }
    EXPECT_GT(bytes[4], bytes[5] + 4 * 20);  // by the same plan
  });
}

}  // namespace
}  // namespace gradwire
