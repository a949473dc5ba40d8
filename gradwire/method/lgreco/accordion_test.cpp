// Claims about Accordion: which setting a layer has, that ranks agree, that a state goes on, and
// that L-GreCo on top of it sends less with no more error.
#include "gradwire/method/lgreco/accordion.h"

#include <cmath>

#include "gradwire/collective/test_support.h"
#include "gradwire/core/error.h"
#include "gradwire/method/parsed_method.h"
#include "gradwire/method/powersgd/powersgd_test_support.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

TEST(Accordion, ALayerIsCriticalWhileItsNormChanges) {
  CriticalPhases phases(0.5);
  const auto look = [&](std::vector<double> norms) { return phases.look(norms); };
  using Layers = std::vector<bool>;
  EXPECT_EQ(look({1, 1, 1, 0}), Layers({true, true, true, true}));  // the first period
  EXPECT_EQ(look({1.4, 1.5, 0.5, 0}), Layers({false, true, true, true}));
  EXPECT_EQ(look({1.4, 1.4, 0.3, 1}), Layers({false, false, false, true}));
  MethodState state;
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  phases.save(names, state);
  CriticalPhases loaded(0.5);
  loaded.load(names, state);
  EXPECT_EQ(loaded.look(std::vector<double>{1.4, 3, 0.3, 1}), Layers({false, true, false, false}));
}

TEST(Accordion, TextsAreCanonical) {
  EXPECT_EQ(parse_method("accordion(topk, low=0.01, high=10%, threshold=0.5)").spec,
            "accordion(topk)");
  EXPECT_EQ(parse_method("accordion(powersgd, low=2, high=8, period=50)").spec,
            "accordion(powersgd, low=2, high=8, period=50)");
  EXPECT_EQ(parse_method("lgreco(topk, reference=accordion(topk, low=1%), range=0.5..2)").spec,
            "lgreco(topk, range=0.5..2, reference=accordion(topk))");
  for (const char* text :
       {"accordion", "accordion(natural)", "accordion(any)", "accordion(topk(1%))",
        "accordion(topk, low=10%, high=1%)", "accordion(qsgd, low=2.5)", "accordion(qsgd, high=9)",
        "lgreco(topk, reference=accordion(qsgd))", "lgreco(topk, reference=topk(1%))",
        "lgreco(topk, reference=accordion(topk), window=4)", "lgreco(topk, range=2..3)",
        "lgreco(topk, range=2)", "lgreco(topk, reference=accordion(topk, period=5))",
        "lgreco(topk, reference=accordion(topk), budget=hide)"}) {
    EXPECT_THROW(parse_method(text), SpecError) << text;
  }
}

std::vector<MethodTensor> tensors() {
  return {{"steady", {32, 100}}, {"bias", {32}}, {"changing", {40, 60}}};
}

// The second layer's gradients shrink to a quarter with every period of 4 steps.
Gradients gradients_of(std::size_t rank, std::uint64_t step) {
  Gradients gradients = step_gradients(tensors(), 0, 0);
  const Gradients noise = step_gradients(tensors(), rank, step);
  for (std::size_t t = 0; t < gradients.values.size(); ++t) {
    const float scale = t == 2 ? std::ldexp(1.0F, -2 * static_cast<int>(step / 4)) : 1.0F;
    for (std::size_t i = 0; i < gradients.values[t].size(); ++i) {
      gradients.values[t][i] = scale * (gradients.values[t][i] + 0.1F * noise.values[t][i]);
    }
  }
  return gradients;
}

TEST(AccordionThreads, ChangingLayersHaveTheHighSettingOnAllRanksAndStatesGoOn) {
  constexpr std::size_t kRanks = 3;
  for (const char* spec : {"accordion(topk, period=4)", "accordion(powersgd, period=4)",
                           "lgreco(topk, reference=accordion(topk), warmup=4, period=4)"}) {
    std::vector<std::vector<float>> outputs(kRanks);
    std::vector<std::string> choices(kRanks);
    run_communicators(kRanks, [&](Communicator& communicator) {
      const std::size_t rank = communicator.rank();
      const auto make = [&] {
        return make_method(communicator, tensors(), spec,
                           {.topology = Topology::scatter, .seed = 3});
      };
      auto method = make();
      for (std::uint64_t step = 0; step < 14; ++step) {
        if (step == 10) {
          const MethodState state = method->save();
          method = make();
          method->load(state);
          EXPECT_EQ(method->save(), state);
        }
        Gradients gradients = gradients_of(rank, step);
        const MethodReport report = method->run({.step = step}, gradients.spans);
        append(gradients, outputs[rank]);
        EXPECT_EQ(report.note != nullptr, step > 0 && step % 4 == 0) << step;
        if (!report.note) continue;
        for (const std::size_t layer : {0, 2}) {
          choices[rank] += text_of(report.note->cell(layer, "choice")) + ' ';
        }
        const auto bytes = number_of(report.note->get("bytes")).value();
        const auto reference = number_of(report.note->get("uniform_bytes")).value();
        EXPECT_LE(bytes, reference);
      }
    });
    for (std::size_t rank = 1; rank < kRanks; ++rank) {
      EXPECT_TRUE(same_bits(outputs[0], outputs[rank])) << spec;
      EXPECT_EQ(choices[0], choices[rank]) << spec;
    }
    if (std::string_view(spec).starts_with("accordion(topk")) {
      EXPECT_EQ(choices[0], "topk(10%) topk(10%) topk(1%) topk(10%) topk(1%) topk(10%) ");
    }
  }
}

}  // namespace
}  // namespace gradwire
