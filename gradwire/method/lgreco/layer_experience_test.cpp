#include "gradwire/method/lgreco/layer_experience.h"

#include <cmath>

#include "gtest/gtest.h"

namespace gradwire {
namespace {

constexpr double kNorm = 100;

Candidates candidates() {
  constexpr Family kFamilies[] = {Family::qsgd, Family::topk, Family::powersgd};
  return make_candidates(kFamilies);
}

std::size_t index_of(const Candidates& all, const std::string& spec) {
  for (std::size_t i = 0; i < all.all.size(); ++i) {
    if (all.all[i].spec == spec) return i;
  }
  ADD_FAILURE() << spec;
  return 0;
}

// The same error by all candidates; those that come later send more.
std::vector<LayerCosts> costs_of(const Candidates& all, double squared_error) {
  LayerCosts costs{.by_candidate = {}, .squared_norm = kNorm};
  for (std::size_t i = 0; i < all.all.size(); ++i) {
    costs.by_candidate.push_back(
        CandidateCost{.squared_error = squared_error, .bytes = static_cast<double>(i)});
  }
  return {costs};
}

double factor(const std::vector<LayerCosts>& costs, std::size_t candidate) {
  return costs[0].by_candidate[candidate]->error_factor;
}

TEST(LayerExperience, AFamilyThatKeptNoPromiseIsTrustedLess) {
  const Candidates all = candidates();
  const std::size_t low_rank = index_of(all, "powersgd(rank=4)");
  const std::size_t quantised = index_of(all, "qsgd(bits=4)");
  LayerExperience experience({"w"});
  // Low rank is promised to lose a tenth, and loses three.
  experience.note(all, ErrorMeasure::norms, std::vector{low_rank}, costs_of(all, 1));
  std::vector<LayerCosts> costs = costs_of(all, 9);
  experience.apply(all, ErrorMeasure::norms, std::vector{low_rank}, costs);
  EXPECT_DOUBLE_EQ(factor(costs, low_rank), 1);  // it has seen its own memory
  EXPECT_DOUBLE_EQ(factor(costs, index_of(all, "powersgd(rank=2)")), 1);  // so has its family
  EXPECT_DOUBLE_EQ(factor(costs, index_of(all, "powersgd(rank=8)")), 1);
  EXPECT_DOUBLE_EQ(factor(costs, index_of(all, "topk(1%)")), 1);
  // Something else is taken; when low rank looks good again, it is remembered, a little less.
  experience.note(all, ErrorMeasure::norms, std::vector{quantised}, costs);
  costs = costs_of(all, 1);
  experience.apply(all, ErrorMeasure::norms, std::vector{quantised}, costs);
  EXPECT_NEAR(factor(costs, low_rank), std::pow(3, 0.9), 1e-12);
  EXPECT_DOUBLE_EQ(factor(costs, quantised), 1);
}

// If it were doubted, a plan could lose more and still be no worse.
TEST(LayerExperience, TheUniformSettingIsNeverDoubted) {
  const Candidates all =
      make_candidates(std::vector{Family::qsgd, Family::topk}, read_candidate("topk(1%)"));
  const std::size_t sparse = index_of(all, "topk(1%)");
  const std::size_t quantised = index_of(all, "qsgd(bits=4)");
  LayerExperience experience({"w"});
  experience.note(all, ErrorMeasure::norms, std::vector{sparse}, costs_of(all, 1));
  std::vector<LayerCosts> costs = costs_of(all, 9);
  experience.apply(all, ErrorMeasure::norms, std::vector{sparse}, costs);
  costs = costs_of(all, 9);
  experience.apply(all, ErrorMeasure::norms, std::vector{quantised}, costs);
  EXPECT_GT(factor(costs, index_of(all, "topk(2%)")), 2);
  EXPECT_DOUBLE_EQ(factor(costs, sparse), 1);
}

TEST(LayerExperience, PromisesThatWereKeptChangeNothing) {
  const Candidates all = candidates();
  const std::size_t sparse = index_of(all, "topk(1%)");
  LayerExperience experience({"w"});
  for (int i = 0; i < 5; ++i) {
    std::vector<LayerCosts> costs = costs_of(all, 50);
    experience.apply(all, ErrorMeasure::lag, std::vector{sparse}, costs);
    for (std::size_t c = 0; c < all.all.size(); ++c) EXPECT_DOUBLE_EQ(factor(costs, c), 1);
    experience.note(all, ErrorMeasure::lag, std::vector{sparse}, costs);
  }
}

TEST(LayerExperience, GoesOnFromAState) {
  const Candidates all = candidates();
  const std::size_t sparse = index_of(all, "topk(1%)");
  LayerExperience first({"w"});
  first.note(all, ErrorMeasure::squares, std::vector{sparse}, costs_of(all, 1));
  std::vector<LayerCosts> costs = costs_of(all, 4);
  first.apply(all, ErrorMeasure::squares, std::vector{sparse}, costs);
  MethodState state;
  first.save(state);
  LayerExperience second({"w"});
  second.load(state);
  MethodState again;
  second.save(again);
  EXPECT_EQ(again, state);
  const std::size_t low_rank = index_of(all, "powersgd(rank=4)");
  costs = costs_of(all, 1);
  second.apply(all, ErrorMeasure::squares, std::vector{low_rank}, costs);
  EXPECT_NEAR(factor(costs, sparse - 1), std::pow(2, 0.9), 1e-12);
}

}  // namespace
}  // namespace gradwire
