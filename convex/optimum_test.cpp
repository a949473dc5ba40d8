#include "convex/optimum.h"

#include <algorithm>
#include <cmath>

#include "convex/generated.h"
#include "data/libsvm.h"
#include "gtest/gtest.h"

namespace gradwire::convex {
namespace {

constexpr const char* kRegularisers[] = {"none",     "l1(0.01)",
                                         "l2(0.05)", "elastic(l1=0.02, l2=0.01)",
                                         "box(0.1)", "box(low=0, high=0.2)"};

TEST(Optimum, IsProvenToFourteenDigits) {
  for (const Loss loss : {Loss::logistic, Loss::least_squares}) {
    const data::Dataset data =
        loss == Loss::logistic ? generate_classes({.rows = 300}) : generate_numbers({.rows = 300});
    const Problem problem(data, loss, 1e-3);
    for (const char* spec : kRegularisers) {
      const Objective objective{problem, parse_regulariser(spec)};
      const Optimum optimum = find_optimum(objective);
      EXPECT_TRUE(optimum.is_proven) << spec;
      EXPECT_LE(optimum.error, kOptimumError) << spec;
      EXPECT_EQ(optimum.value, objective.value(optimum.x));
    }
  }
}

TEST(Optimum, BothWaysComeToTheSameValue) {
  const data::Dataset data = generate_classes({.rows = 300});
  const Problem problem(data, Loss::logistic, 1e-2);
  for (const char* spec : kRegularisers) {
    const Objective objective{problem, parse_regulariser(spec)};
    const Optimum newton = find_optimum_by_newton(objective);
    const Optimum accelerated = find_optimum_by_acceleration(objective);
    EXPECT_LE(accelerated.error, kOptimumError) << spec;
    EXPECT_NEAR(newton.value, accelerated.value, 2e-14) << spec;
  }
}

TEST(Optimum, L1LeavesExactZeros) {
  const data::Dataset data = generate_classes({.rows = 300});
  const Problem problem(data, Loss::logistic, 1e-3);
  const Optimum optimum = find_optimum({problem, parse_regulariser("l1(0.02)")});
  EXPECT_GE(std::ranges::count(optimum.x, 0.0), 5);
}

TEST(Optimum, WithoutStrongConvexityItIsAnEstimate) {
  const data::Dataset data = generate_classes({.rows = 300});
  const Problem problem(data, Loss::logistic, 0);
  const Optimum optimum = find_optimum({problem, {}});
  EXPECT_FALSE(optimum.is_proven);
  EXPECT_LE(optimum.error, kOptimumError);
  EXPECT_LE(optimum.value, problem.value(std::vector<double>(40)));
}

TEST(Optimum, ProblemThatOneFeatureSolvesExactlyIsSolvedExactly) {
  data::Dataset data;
  data.rows = {.features = 2, .starts = {0, 1, 2}, .columns = {0, 0}, .values = {1, 1}};
  data.labels = {1, 3};
  const Problem problem(data, Loss::least_squares, 0);  // the second feature is in no row
  const Optimum optimum = find_optimum({problem, {}});
  EXPECT_NEAR(optimum.x[0], 2, 1e-12);
  EXPECT_NEAR(optimum.value, 0.5, 1e-15);
}

TEST(OptimumFiles, IsFoundOnRealDataWithAndWithoutL1) {
  for (const char* name : {"mushrooms", "a5a"}) {
    const auto path = std::filesystem::path("../shared/data/libsvm") / name;
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
    data::Dataset data = data::read_libsvm(path);
    data::map_labels_to_signs(data);
    const double l2 = smoothness(data, Loss::logistic, data::all_rows(data)) / 100;
    const Problem problem(data, Loss::logistic, l2);
    for (const char* spec : {"none", "l1(0.0001)"}) {
      const Optimum optimum = find_optimum({problem, parse_regulariser(spec)});
      EXPECT_TRUE(optimum.is_proven);
      EXPECT_LE(optimum.error, kOptimumError) << name << " " << spec;
    }
  }
}

}  // namespace
}  // namespace gradwire::convex
