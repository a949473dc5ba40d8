#include "gradwire/plan/buckets.h"

#include "gradwire/plan/problems_test_support.h"
#include "gradwire/plan/relaxation.h"
#include "gtest/gtest.h"

namespace gradwire::plan {
namespace {

// A problem with a choice that fits, and another one, in true weights and in buckets.
struct Example {
  explicit Example(Numbers& numbers) {
    const Layers given = random_layers(numbers.next(1, 12), 5, numbers);
    for (const auto& options : given) {
      Items items;
      for (std::uint32_t i = 0; i < options.size(); ++i) {
        items.push_back({options[i].weight, options[i].price, i});
      }
      keep_undominated(items);
      layers.push_back(items);
      const Item& anchor = items[numbers.next(0, items.size() - 1)];
      anchor_weights.push_back(anchor.weight);
      anchor_options.push_back(anchor.option);
      limit += anchor.weight;
    }
    limit *= 1 + 0.2 * numbers.next();
    const std::vector<ItemSpan> spans(layers.begin(), layers.end());
    bucketed = put_into_buckets(spans, limit, anchor_weights, 100);
  }

  // What a choice weighs in buckets; above the limit if one of its items is not there any more.
  double buckets(const std::vector<std::uint32_t>& options) const {
    double sum = 0;
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      const auto& items = bucketed.layers[layer];
      const auto found = std::ranges::find(items, options[layer], &Item::option);
      sum += found != items.end() ? found->weight : bucketed.limit + 1;
    }
    return sum;
  }

  std::vector<Items> layers;
  double limit = 0;
  std::vector<double> anchor_weights;
  std::vector<std::uint32_t> anchor_options;
  Bucketed bucketed;
};

TEST(Buckets, TheAnchorFits) {
  Numbers numbers(1);
  for (int i = 0; i < 200; ++i) {
    const Example example(numbers);
    // In a bucket with something cheaper, that one stands for it.
    double sum = 0;
    for (std::size_t layer = 0; layer < example.layers.size(); ++layer) {
      const auto& from = example.layers[layer];
      const auto anchor = std::ranges::find(from, example.anchor_options[layer], &Item::option);
      double least = example.bucketed.limit + 1;
      for (const Item& item : example.bucketed.layers[layer]) {
        if (item.price <= anchor->price) least = std::min(least, item.weight);
      }
      sum += least;
    }
    EXPECT_LE(sum, example.bucketed.limit);
  }
}

TEST(Buckets, WhatFitsInThemFitsTrulyAndWhatFitsALowerLimitFitsInThem) {
  Numbers numbers(2);
  int fitting = 0;
  for (int i = 0; i < 2000; ++i) {
    const Example example(numbers);
    std::vector<std::uint32_t> options;
    double weight = 0;
    bool is_kept = true;
    for (std::size_t layer = 0; layer < example.layers.size(); ++layer) {
      const Items& items = example.layers[layer];
      const Item& item = items[numbers.next(0, items.size() - 1)];
      options.push_back(item.option);
      weight += item.weight;
      const auto& kept = example.bucketed.layers[layer];
      is_kept = is_kept && std::ranges::find(kept, item.option, &Item::option) != kept.end();
    }
    const double buckets = example.buckets(options);
    if (buckets <= example.bucketed.limit) {
      ++fitting;
      EXPECT_LE(weight, example.limit * (1 + 1e-14));
    } else if (is_kept) {
      const double lower = static_cast<double>(options.size()) * example.bucketed.bucket_weight;
      EXPECT_GT(weight, example.limit - lower);
    }
  }
  EXPECT_GT(fitting, 200);
}

TEST(Buckets, WithoutRoomOnlyTheLightestAreLeft) {
  const Items items = {{1, 5, 3}, {2, 4, 1}};
  const std::vector<ItemSpan> layers = {items, items};
  const Bucketed bucketed = put_into_buckets(layers, 2, std::vector<double>{1, 1}, 100);
  for (const Items& left : bucketed.layers) {
    ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(left[0].option, 3U);
    EXPECT_EQ(left[0].weight, 0);
  }
}

}  // namespace
}  // namespace gradwire::plan
