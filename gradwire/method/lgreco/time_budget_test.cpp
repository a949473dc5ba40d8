#include "gradwire/method/lgreco/time_budget.h"

#include "gtest/gtest.h"

namespace gradwire {
namespace {

// Two groups of 1,000 elements and more: a planned layer and a bias, and once more.
std::vector<MethodTensor> tensors() {
  return {{"a", {100, 10}}, {"a.bias", {100}}, {"b", {50, 10}}, {"b.bias", {50}}};
}

TEST(TimeBudget, WhatIsReadyLastCannotHide) {
  const std::vector<std::size_t> layers = {0, 2};
  const TravelGroups groups = find_groups(tensors(), layers, 1000);
  EXPECT_EQ(groups.groups, 2U);
  EXPECT_EQ(groups.is_last, (std::vector<bool>{false, true}));
  EXPECT_EQ(groups.hidden_exact_bytes, 0);
  EXPECT_EQ(groups.last_exact_bytes, 4 * 150);  // a.bias begins the second group
  EXPECT_EQ(find_groups(tensors(), layers, 5000).groups, 1U);
  EXPECT_EQ(find_groups(tensors(), layers, 5000).is_last, (std::vector<bool>{true, true}));
}

TEST(TimeBudget, IsWhatTheLinkLeaves) {
  const TravelGroups groups{
      .groups = 4, .is_last = {}, .hidden_exact_bytes = 1000, .last_exact_bytes = 500};
  const TimeBudget budget = find_budget(
      groups, {.compute_seconds = 0.08, .bytes_per_second = 1e6, .latency_seconds = 0.002});
  EXPECT_NEAR(budget.hidden_seconds, 0.08 * 3 / 4 - 3 * 0.002 - 0.001, 1e-12);
  EXPECT_NEAR(budget.last_seconds, 0.008 - 0.0005, 1e-12);
  // Nothing is less than no time.
  const TimeBudget none = find_budget(
      groups, {.compute_seconds = 0.001, .bytes_per_second = 1e3, .latency_seconds = 0.002});
  EXPECT_EQ(none.hidden_seconds, 0);
  EXPECT_EQ(none.last_seconds, 0);
}

TEST(TimeBudget, EachPartGetsTheLeastErrorInItsTime) {
  constexpr Family kFamilies[] = {Family::qsgd};
  const Candidates all = make_candidates(kFamilies);
  // A bit more takes a second more and halves the error; exact takes 100 seconds.
  LayerCosts layer{.by_candidate = {CandidateCost{.seconds = 100}}, .squared_norm = 1};
  for (std::size_t i = 1; i < all.all.size(); ++i) {
    layer.by_candidate.push_back(CandidateCost{.squared_error = 1.0 / static_cast<double>(1U << i),
                                               .seconds = static_cast<double>(i)});
  }
  const std::vector<LayerCosts> costs = {layer, layer, layer};
  const TravelGroups groups{.groups = 2, .is_last = {false, false, true}};
  const auto choices = plan_in_time(all, costs, ErrorMeasure::norms, groups,
                                    {.hidden_seconds = 6.5, .last_seconds = 1.5});
  EXPECT_EQ(choices, (std::vector<std::size_t>{3, 3, 1}));
  const TimeBudget taken = exchange_seconds(costs, choices, groups);
  EXPECT_EQ(taken.hidden_seconds, 6);
  EXPECT_EQ(taken.last_seconds, 1);
  // Where nothing fits, the quickest.
  EXPECT_EQ(plan_in_time(all, costs, ErrorMeasure::norms, groups, {})[2], 1U);
}

}  // namespace
}  // namespace gradwire
