#include "gradwire/plan/choose.h"

#include <cmath>
#include <limits>
#include <string>

#include "gradwire/core/error.h"
#include "gradwire/plan/problems_test_support.h"
#include "gtest/gtest.h"

namespace gradwire::plan {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// L-GreCo as it was published: errors are put into buckets, rounded up, and a table has the least
// size for each sum. Infinite if nothing fits.
double published_price(const Layers& layers, double limit) {
  constexpr std::size_t kBuckets = 10'000;
  std::vector<double> least(kBuckets + 1, 0.0);  // for an error of at most so many buckets
  for (const auto& layer : layers) {
    std::vector<double> next(kBuckets + 1, kInfinity);
    for (const Option& option : layer) {
      const double buckets = std::ceil(option.weight / limit * kBuckets);
      if (buckets > kBuckets) continue;
      const auto shift = static_cast<std::size_t>(buckets);
      for (std::size_t i = shift; i <= kBuckets; ++i) {
        next[i] = std::min(next[i], least[i - shift] + option.price);
      }
    }
    least.swap(next);
  }
  return least[kBuckets];
}

// Small problems of six kinds, with ties in three of them.
Layers small_layers(std::size_t kind, Numbers& numbers) {
  const std::size_t count = numbers.next(2, 6);
  const std::size_t options = numbers.next(2, 6);
  if (kind == 0) return random_layers(count, options, numbers);
  if (kind == 1) return similar_layers(count, options, numbers);
  if (kind == 2) return hard_layers(count, options, numbers);
  Layers layers(count);
  for (auto& layer : layers) {
    const double weight = static_cast<double>(numbers.next(0, 3));
    for (std::size_t i = 0; i < options; ++i) {
      if (kind == 3) {  // whole numbers
        layer.push_back({static_cast<double>(numbers.next(0, 9)),
                         static_cast<double>(10 * numbers.next(0, 9))});
      } else if (kind == 4) {  // weights that are all the same within a layer
        layer.push_back({weight, numbers.next()});
      } else {  // weights from 1e-12 to 1e6, and prices that repeat
        layer.push_back(
            {std::pow(10, 18 * numbers.next() - 12), static_cast<double>(numbers.next(1, 4)) / 3});
      }
    }
  }
  return layers;
}

TEST(Choose, IsTheBestOfAllOnSmallProblems) {
  Numbers numbers(1);
  for (int problem = 0; problem < 300; ++problem) {
    SCOPED_TRACE(problem);
    const Layers layers = small_layers(static_cast<std::size_t>(problem) % 6, numbers);
    const Options reference = uniform(layers, layers[0].size() / 2);
    const Choice uniform_choice = total_of(layers, reference);
    const bool is_exactly_uniform = problem % 4 == 0;
    const double alpha = is_exactly_uniform ? 1 : 0.6 + 0.8 * numbers.next();
    const double limit = alpha * uniform_choice.weight;
    const Choice choice = choose(layers, limit, alpha >= 1 ? reference : Options{});
    const Choice best = best_of_all(layers, limit);
    if (best.options.empty()) {
      EXPECT_GT(choice.weight, limit);
      EXPECT_EQ(choice.weight, lightest_weight(layers));
      continue;
    }
    EXPECT_EQ(choice.price, best.price);
    EXPECT_LE(choice.weight, limit);
    EXPECT_TRUE(choice.is_exact);
    if (alpha >= 1) {
      EXPECT_LE(choice.price, uniform_choice.price);
    }
    const Choice again = total_of(layers, choice.options);
    EXPECT_EQ(choice.weight, again.weight);
    EXPECT_EQ(choice.price, again.price);
  }
}

// The point of not rounding from zero: where layers are similar, the published algorithm cannot
// even find uniform, since its own errors, rounded up, are above the limit.
TEST(Choose, IsNeverWorseThanUniformWhereThePublishedAlgorithmIs) {
  int published_worse = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Numbers numbers(seed);
    const Layers layers = similar_layers(30, 7, numbers);
    const Options reference = uniform(layers, 2);  // 4 bits
    const Choice uniform_choice = total_of(layers, reference);
    const Choice choice = choose(layers, uniform_choice.weight, reference);
    EXPECT_LE(choice.price, uniform_choice.price);
    EXPECT_LE(choice.weight, uniform_choice.weight);
    published_worse += published_price(layers, uniform_choice.weight) > uniform_choice.price;
  }
  EXPECT_EQ(published_worse, 50);
}

TEST(Choose, BeatsThePublishedAlgorithmOnNetworks) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Numbers numbers(seed);
    const Layers layers = network_layers(60, 7, numbers);
    const Options reference = uniform(layers, 2);
    const Choice uniform_choice = total_of(layers, reference);
    const Choice choice = choose(layers, uniform_choice.weight, reference);
    EXPECT_TRUE(choice.is_exact);
    EXPECT_LE(choice.price, published_price(layers, uniform_choice.weight));
    EXPECT_LT(choice.price, 0.9 * uniform_choice.price);
  }
}

TEST(Choose, AReferenceThatUsesUpTheLimitFits) {
  Numbers numbers(2);
  Layers layers(200);
  for (auto& layer : layers) {
    for (int i = 0; i < 3; ++i) {
      layer.push_back({std::pow(10, 18 * numbers.next() - 12), numbers.next()});
    }
    std::ranges::sort(layer, {}, &Option::weight);
    for (std::size_t i = 0; i < 3; ++i) layer[i].price = static_cast<double>(3 - i);
  }
  for (const std::size_t option : {0U, 1U, 2U}) {
    const Options reference = uniform(layers, option);
    const Choice uniform_choice = total_of(layers, reference);
    const Choice choice = choose(layers, uniform_choice.weight, reference);
    EXPECT_LE(choice.weight, uniform_choice.weight);
    EXPECT_LE(choice.price, uniform_choice.price);
    // One ulp less, and the lightest does not fit any more.
    const double less = std::nextafter(lightest_weight(layers), 0);
    EXPECT_THROW(choose(layers, less, reference), Error);
  }
}

TEST(Choose, ATimeBudgetGivesTheLeastErrorThatFitsIt) {
  Numbers numbers(3);
  Layers layers = network_layers(50, 7, numbers);
  for (auto& layer : layers) {
    for (Option& option : layer) option = {1e-9 * option.price, option.weight};
  }
  double last_error = kInfinity;
  for (const double budget : {0.6, 0.8, 1.0, 2.0}) {
    const double seconds = budget * total_of(layers, uniform(layers, 2)).weight;
    const Choice choice = choose(layers, seconds);
    EXPECT_TRUE(choice.is_exact);
    EXPECT_LE(choice.weight, seconds);
    EXPECT_LE(choice.price, last_error);
    last_error = choice.price;
  }
  EXPECT_EQ(last_error, total_of(layers, uniform(layers, 6)).price);  // room for all of it
}

TEST(Choose, TheLightestComesBackWhereNothingFits) {
  const Layers layers = {{{3, 1}, {2, 5}, {2, 4}, {2, 4}}, {{1, 1}, {1, 0}, {0.5, 9}}};
  const Choice choice = choose(layers, 2.4);
  EXPECT_EQ(choice.options, (Options{2, 2}));
  EXPECT_EQ(choice.weight, 2.5);
  EXPECT_FALSE(choice.is_exact);
}

TEST(Choose, TakesTheCheapestWithoutALimit) {
  const Layers layers = {{{3, 1}, {2, 5}}, {{1, 1}, {9, 1}, {5, 2}}};
  const Choice choice = choose(layers, kInfinity);
  EXPECT_EQ(choice.options, (Options{0, 0}));
  EXPECT_TRUE(choice.is_exact);
}

TEST(Choose, EqualOptionsAreToldApartByTheirIndex) {
  const Layers layers(40, {{2, 3}, {1, 4}, {2, 3}, {1, 4}});
  const Choice choice = choose(layers, 50);
  EXPECT_EQ(choice.price, 10 * 3 + 30 * 4);
  for (const std::size_t option : choice.options) EXPECT_LT(option, 2U);
  EXPECT_EQ(choose(layers, 50).options, choice.options);
}

TEST(Choose, WorksWithoutWeightAndWithoutLayers) {
  const Choice none = choose(Layers{}, 0);
  EXPECT_TRUE(none.options.empty());
  EXPECT_TRUE(none.is_exact);
  const Choice free = choose(Layers{{{0, 2}, {0, 1}, {1e-300, 0}}, {{0, 0}}}, 0);
  EXPECT_EQ(free.options, (Options{1, 0}));
  EXPECT_TRUE(free.is_exact);
}

TEST(Choose, HugeAndTinyNumbersAreNoTrouble) {
  const Layers layers(5, {{0, 1e308}, {1e-320, 1e300}, {1e-310, 1}, {1e300, 1e-320}});
  const Choice all = best_of_all(layers, 3e-310);
  const Choice choice = choose(layers, 3e-310);
  EXPECT_EQ(choice.price, all.price);
  EXPECT_LE(choice.weight, 3e-310);
}

void expect_refused(const Layers& layers, double limit, const Options& reference,
                    const std::string& message) {
  try {
    choose(layers, limit, reference);
    ADD_FAILURE() << "expected: " << message;
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), message);
  }
}

TEST(Choose, RefusesWhatIsNoProblem) {
  const Layers good = {{{1, 2}}, {{1, 2}, {2, 1}}};
  expect_refused({{{1, 2}}, {}}, 1, {}, "layer 1 has no options to choose from");
  expect_refused({{{1, 2}, {-1, 2}}}, 1, {},
                 "layer 0: the weight of option 1 is -1, not a number from 0 on");
  expect_refused({{{1, 2}}, {{1, kInfinity}}}, 1, {},
                 "layer 1: the price of option 0 is inf, not a number from 0 on");
  expect_refused({{{std::nan(""), 2}}}, 1, {},
                 "layer 0: the weight of option 0 is nan, not a number from 0 on");
  expect_refused(good, std::nan(""), {}, "the limit of a choice must be a number");
  expect_refused(good, 9, {0}, "the reference is for 1 layers, and there are 2");
  expect_refused(good, 9, {0, 2}, "layer 1: the reference takes option 2 of 2, counted from 0");
  expect_refused(good, 2.5, {0, 1}, "the reference does not fit: its weight is 3, the limit 2.5");
}

}  // namespace
}  // namespace gradwire::plan
