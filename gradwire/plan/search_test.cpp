#include "gradwire/plan/search.h"

#include "gradwire/plan/problems_test_support.h"
#include "gtest/gtest.h"

namespace gradwire::plan {
namespace {

// So few states that fronts are thinned out, and buckets have to help.
constexpr SearchEffort kLittle = {
    .states = 10, .buckets = 300, .work = 20'000, .work_per_option = 0};

TEST(Search, GivingUpKeepsWhatBucketsPromise) {
  int gave_up = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Numbers numbers(seed);
    const Layers layers = seed % 2 == 0 ? hard_layers(numbers.next(4, 16), 6, numbers)
                                        : network_layers(numbers.next(4, 16), 6, numbers);
    const Options reference = uniform(layers, 2);
    const Choice uniform_choice = total_of(layers, reference);
    const double limit = uniform_choice.weight;
    const Choice choice = search(layers, limit, reference, kLittle);
    gave_up += !choice.is_exact;
    EXPECT_LE(choice.weight, limit);
    EXPECT_LE(choice.price, uniform_choice.price);

    const Choice best = choose(layers, limit, reference);
    ASSERT_TRUE(best.is_exact);
    EXPECT_GE(choice.price, best.price);
    if (choice.is_exact) {
      EXPECT_EQ(choice.price, best.price);
    }
    const double bucket = (limit - lightest_weight(layers)) / static_cast<double>(kLittle.buckets);
    const Choice promised = choose(layers, limit - static_cast<double>(layers.size()) * bucket);
    if (promised.weight > limit) continue;
    EXPECT_LE(choice.price, promised.price);
  }
  EXPECT_GE(gave_up, 15);
}

TEST(Search, WithoutAnyWorkTheReferenceIsStillKept) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Numbers numbers(seed);
    const Layers layers = hard_layers(300, 8, numbers);
    const Options reference = uniform(layers, 3);
    const Choice uniform_choice = total_of(layers, reference);
    const SearchEffort none = {.states = 1, .buckets = 1, .work = 0, .work_per_option = 0};
    const Choice choice = search(layers, uniform_choice.weight, reference, none);
    EXPECT_LE(choice.weight, uniform_choice.weight);
    EXPECT_LE(choice.price, uniform_choice.price);
  }
}

TEST(Search, LargeProblemsFitAndAreCloseToTheirBound) {
  Numbers numbers(5);
  for (const Layers& layers :
       {hard_layers(3000, 16, numbers), random_layers(3000, 16, numbers),
        network_layers(3000, 16, numbers), similar_layers(3000, 16, numbers)}) {
    const Options reference = uniform(layers, 6);
    const Choice uniform_choice = total_of(layers, reference);
    const Choice choice = choose(layers, uniform_choice.weight, reference);
    EXPECT_LE(choice.weight, uniform_choice.weight);
    EXPECT_LE(choice.price, uniform_choice.price);
    const Choice little = search(layers, uniform_choice.weight, reference, kLittle);
    EXPECT_LE(little.weight, uniform_choice.weight);
    EXPECT_LE(little.price, uniform_choice.price);
    EXPECT_LE(choice.price, little.price);
    EXPECT_LE(little.price, 1.001 * choice.price);
  }
}

}  // namespace
}  // namespace gradwire::plan
