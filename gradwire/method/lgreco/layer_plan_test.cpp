#include "gradwire/method/lgreco/layer_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "gradwire/collective/test_support.h"
#include "gradwire/core/error.h"
#include "gradwire/kernel/sums.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

constexpr std::array kFamilies = {Family::qsgd, Family::topk, Family::powersgd};

struct Problem {
  std::vector<MethodTensor> tensors = {{"a", {16, 27}}, {"b", {64, 64}}, {"c", {40, 100}}};
  std::vector<std::vector<float>> values;
  std::vector<LayerCosts> costs;
};

// Values of three sorts: alike, with a few large ones, and of low rank.
Problem make_problem(const Candidates& candidates, std::size_t seed) {
  Problem problem;
  for (std::size_t t = 0; t < problem.tensors.size(); ++t) {
    const MethodTensor& tensor = problem.tensors[t];
    auto values = rank_values(seed, t, tensor.elements());
    if (t == 1) {
      for (float& value : values) value *= value * value * value * value;
    } else if (t == 2) {
      const auto rows = rank_values(seed, 7, tensor.shape[0]);
      const auto columns = rank_values(seed, 8, tensor.shape[1]);
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = rows[i / 100] * columns[i % 100] + 0.01F * values[i];
      }
    }
    problem.costs.push_back(
        {measure_costs(tensor, values, candidates, {}), kernel::moments(values).squares});
    problem.values.push_back(std::move(values));
  }
  return problem;
}

TEST(LayerCandidates, CostsAreWhatCodecsDo) {
  const Candidates candidates = make_candidates(kFamilies);
  const Problem problem = make_problem(candidates, 1);
  for (std::size_t layer = 0; layer < problem.costs.size(); ++layer) {
    const LayerCosts& costs = problem.costs[layer];
    for (std::size_t i = 0; i < candidates.all.size(); ++i) {
      const Candidate& candidate = candidates.all[i];
      SCOPED_TRACE(candidate.spec);
      ASSERT_EQ(costs.by_candidate[i].has_value(), is_possible(problem.tensors[layer], candidate));
      if (!costs.by_candidate[i]) continue;
      const CandidateCost& cost = *costs.by_candidate[i];
      EXPECT_GE(cost.squared_error, 0);
      EXPECT_LE(cost.squared_error, 2 * costs.squared_norm);
      if (candidate.family == Family::exact) {
        EXPECT_EQ(cost.squared_error, 0);
        EXPECT_EQ(cost.bytes, 4.0 * static_cast<double>(problem.values[layer].size()));
      }
      if (i > 1 && candidate.family == candidates.all[i - 1].family) {
        EXPECT_GE(cost.bytes, costs.by_candidate[i - 1]->bytes);
        EXPECT_LE(cost.squared_error, 1.1 * costs.by_candidate[i - 1]->squared_error);
      }
    }
  }
  // A matrix of rank 1 with a little noise.
  const auto rank_one = std::ranges::find(candidates.all, "powersgd(rank=1)", &Candidate::spec);
  const auto index = static_cast<std::size_t>(rank_one - candidates.all.begin());
  EXPECT_LT(problem.costs[2].by_candidate[index]->squared_error,
            0.01 * problem.costs[2].squared_norm);
}

TEST(LayerCandidates, ASampleTellsAboutTheWhole) {
  const MethodTensor tensor{"w", {256, 512}};
  const auto values = rank_values(0, 0, tensor.elements());
  const Candidates candidates = make_candidates(kFamilies);
  const auto all = measure_costs(tensor, values, candidates, {});
  const auto some = measure_costs(tensor, values, candidates, {.sample_elements = 16384});
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(candidates.all[i].spec);
    EXPECT_NEAR(some[i]->squared_error, all[i]->squared_error, 0.05 * all[i]->squared_error);
    EXPECT_NEAR(some[i]->bytes, all[i]->bytes, 0.05 * all[i]->bytes + 150);
  }
}

TEST(LayerPlan, IsNeverWorseThanUniformNorMixedThanOneFamily) {
  for (std::size_t seed = 0; seed < 5; ++seed) {
    for (const ErrorMeasure measure :
         {ErrorMeasure::norms, ErrorMeasure::squares, ErrorMeasure::lag}) {
      for (const char* uniform : {"qsgd(bits=4)", "topk(1%)", "powersgd(rank=4)", "topk(2.5%)"}) {
        const Candidates mixed = make_candidates(kFamilies, read_candidate(uniform));
        const Problem problem = make_problem(mixed, seed);
        const LayerPlan plan = plan_layers(mixed, problem.costs, {.measure = measure});
        EXPECT_TRUE(plan.fits);
        EXPECT_LE(plan.error, plan.uniform_error);
        EXPECT_LE(plan.bytes, plan.uniform_bytes);
        for (const Family family : kFamilies) {
          // The same error as the mixed plan may have, by one family alone, with the settings that
          // it has in the mix: their range depends on the uniform one.
          const bool is_uniform = mixed.all[mixed.uniform].family == family;
          const Candidates one = is_uniform
                                     ? make_candidates(std::array{family}, mixed.all[mixed.uniform])
                                     : make_candidates(std::array{family});
          const Problem alone = make_problem(one, seed);
          const LayerPlan reference = price(one, alone.costs, {.measure = measure},
                                            std::vector<std::size_t>(3, one.uniform));
          const LayerPlan single =
              plan_layers(one, alone.costs,
                          {.measure = measure, .alpha = plan.uniform_error / reference.error});
          if (single.fits) {
            EXPECT_LE(plan.bytes, single.bytes * (1 + 1e-9)) << uniform;
          }
        }
      }
    }
  }
}

TEST(LayerPlan, LagIsWhatAnErrorMemoryComesToHold) {
  const Candidate sparse = read_candidate("topk(1%)");
  const Candidate quantised = read_candidate("qsgd(bits=4)");
  // Half of the square is kept: e = (g + e) / sqrt(2) on the long run, so that |e| = |g|.
  EXPECT_DOUBLE_EQ(layer_error(ErrorMeasure::lag, sparse, {.squared_error = 4}, 8), std::sqrt(8));
  EXPECT_DOUBLE_EQ(layer_error(ErrorMeasure::lag, quantised, {.squared_error = 4}, 8),
                   2);  // has no memory
  EXPECT_DOUBLE_EQ(layer_error(ErrorMeasure::norms, sparse, {.squared_error = 4}, 8), 2);
  EXPECT_DOUBLE_EQ(layer_error(ErrorMeasure::squares, sparse, {.squared_error = 4}, 8), 4);
  // A simulation of it, with new values in every step.
  constexpr std::size_t kElements = 4096;
  std::vector<float> error(kElements);
  double square = 0;
  for (std::size_t step = 0; step < 400; ++step) {
    const auto values = rank_values(0, step, kElements);
    for (std::size_t i = 0; i < kElements; ++i) {
      // Sends a fifth of the places, whatever is there: k is 1/5.
      error[i] = (i + step) % 5 == 0 ? 0 : error[i] + values[i];
    }
    if (step >= 100) square += kernel::moments(error).squares / 300;
  }
  double norm = 0;
  for (std::size_t step = 100; step < 400; ++step) {
    norm += kernel::moments(rank_values(0, step, kElements)).squares / 300;
  }
  // Sent in turn, an error is 2 steps old on the average; at random it would be 4.
  EXPECT_NEAR(square / norm, 2, 0.1);
  EXPECT_NEAR(layer_error(ErrorMeasure::lag, sparse, {.squared_error = 0.8 * norm}, norm),
              std::sqrt(4 * norm), 1e-6);
}

TEST(LayerPlan, KeepsATimeBudget) {
  const Candidates candidates = make_candidates(kFamilies);
  Problem problem = make_problem(candidates, 3);
  for (LayerCosts& layer : problem.costs) {
    for (auto& cost : layer.by_candidate) {
      if (cost) cost->seconds = 1e-6 * cost->bytes;
    }
  }
  double last = std::numeric_limits<double>::infinity();
  for (const double seconds : {0.0005, 0.001, 0.004, 0.01, 1.0}) {
    const LayerPlan plan = plan_layers(candidates, problem.costs, {.seconds = seconds});
    EXPECT_TRUE(plan.fits);
    EXPECT_LE(plan.seconds, seconds);
    EXPECT_LE(plan.error, last);
    last = plan.error;
  }
  EXPECT_EQ(last, 0);  // there is time for everything
  const LayerPlan none = plan_layers(candidates, problem.costs, {.seconds = 1e-9});
  EXPECT_FALSE(none.fits);
}

TEST(LayerPlan, ATighterErrorThanUniformIsPossible) {
  const Candidates candidates = make_candidates(std::array{Family::qsgd});
  const Problem problem = make_problem(candidates, 4);
  const LayerPlan plan = plan_layers(candidates, problem.costs, {.alpha = 0.3});
  EXPECT_TRUE(plan.fits);
  EXPECT_LE(plan.error, 0.3 * plan.uniform_error);
  EXPECT_GT(plan.bytes, plan.uniform_bytes);
}

TEST(LayerCandidates, SpecsAreReadWithTheirMistakes) {
  EXPECT_EQ(read_candidate("powersgd").spec, "powersgd(rank=4)");
  EXPECT_EQ(read_candidate("topk(0.5%)").spec, "topk(0.5%)");
  for (const char* text : {"natural", "topk(1%) | natural", "powersgd(rank=0)", "qsgd(bits=1)"}) {
    EXPECT_THROW(read_candidate(text), SpecError) << text;
  }
}

TEST(LayerCandidates, AreInARangeAroundTheUniformSetting) {
  const auto specs = [](const Candidates& candidates) {
    std::string all;
    for (const Candidate& candidate : candidates.all) all += candidate.spec + ' ';
    return all;
  };
  const std::array topk = {Family::topk};
  EXPECT_EQ(specs(make_candidates(topk, read_candidate("topk(1%)"), {0.5, 2})),
            "none topk(0.5%) topk(0.7%) topk(1%) topk(1.5%) topk(2%) ");
  EXPECT_EQ(specs(make_candidates(topk, read_candidate("topk(2.5%)"), {1, 1})), "none topk(2.5%) ");
  const Candidates usual = make_candidates(topk);
  EXPECT_EQ(usual.all[1].spec, "topk(0.1%)");
  EXPECT_EQ(usual.all.back().spec, "topk(10%)");
  // Published for low rank: half to twice the uniform rank.
  const std::array powersgd = {Family::powersgd};
  EXPECT_EQ(
      specs(make_candidates(powersgd, {}, {0.5, 2})),
      "none powersgd(rank=2) powersgd(rank=3) powersgd(rank=4) powersgd(rank=5) powersgd(rank=6) "
      "powersgd(rank=8) ");
  // The usual range has all bits and all ranks.
  const std::array both = {Family::qsgd, Family::powersgd};
  EXPECT_EQ(make_candidates(both).all.size(), 1U + 7 + 12);
}

TEST(LayerPlan, KeepsTheErrorOfAnotherReference) {
  const std::array families = {Family::topk};
  Candidates candidates = make_candidates(families);
  const Problem problem = make_problem(candidates, 3);
  const std::size_t low = index_of(read_candidate("topk(1%)"), candidates);
  const std::size_t high = index_of(read_candidate("topk(10%)"), candidates);
  const std::vector<std::size_t> reference = {high, low, high};
  const PlanOptions options{.measure = ErrorMeasure::norms, .reference = reference};
  const LayerPlan own = price(candidates, problem.costs, options, reference);
  EXPECT_EQ(own.error, own.uniform_error);
  const LayerPlan plan = plan_layers(candidates, problem.costs, options);
  EXPECT_TRUE(plan.fits);
  EXPECT_LE(plan.error, own.error);
  EXPECT_LT(plan.bytes, own.bytes);
  const LayerPlan uniform =
      plan_layers(candidates, problem.costs, {.measure = ErrorMeasure::norms});
  EXPECT_GT(uniform.uniform_error, plan.uniform_error);
}

}  // namespace
}  // namespace gradwire
