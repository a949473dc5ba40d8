// A caller's mistakes are errors that say what was wrong; they do not end the program.
#include <gtest/gtest.h>

#include "gradwire/core/error_test_support.h"
#include "gradwire/method/workload_test_support.h"

namespace gradwire {
namespace {

TEST(MethodMistakesThread, OfTheTimeBetweenSteps) {
  for (const char* spec : {"natural", "ef(topk(1%))", "powersgd(rank=1)", "lgreco(qsgd)"}) {
    SCOPED_TRACE(spec);
    run_communicators(2, [&](Communicator& communicator) {
      const std::vector<MethodTensor> tensors = {{"w", {40, 30}}, {"b", {40}}};
      const auto method = make_method(communicator, tensors, spec, {});
      const MethodState state = method->save();
      std::vector<float> w(1200, 1.0F), b(40, 1.0F);
      const auto refusal = [](const std::string& call) {
        return call +
               " was called in the middle of a step, after 1 of 2 tensors: finish() the "
               "step first";
      };
      method->begin({});
      method->submit(0, w);
      EXPECT_EQ(error_of([&] { method->save(); }), refusal("save()"));
      EXPECT_EQ(error_of([&] { method->load(state); }), refusal("load()"));
      EXPECT_EQ(error_of([&] { method->rescale(2); }), refusal("rescale()"));
      // The step goes on as if nothing had been asked.
      method->submit(1, b);
      EXPECT_EQ(method->finish().poisoned, 0U);
      EXPECT_EQ(error_of([&] { method->save(); }), "");
    });
  }
}

TEST(MethodMistakes, OfResharing) {
  EXPECT_EQ(error_of([] { reshare({}, 2, 2); }),
            "there is no rank 2 among 2 to make a state for: ranks are counted from 0");
}

}  // namespace
}  // namespace gradwire
