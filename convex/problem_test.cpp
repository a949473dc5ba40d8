#include "convex/problem.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "convex/generated.h"
#include "convex/sum.h"
#include "data/split.h"
#include "gtest/gtest.h"

namespace gradwire::convex {
namespace {

constexpr GeneratedOptions kSmall{.rows = 60, .features = 7, .seed = 3};

data::Dataset generate(Loss loss) {
  return loss == Loss::logistic ? generate_classes(kSmall) : generate_numbers(kSmall);
}

std::vector<double> some_point(std::size_t features) {
  std::vector<double> x(features);
  for (std::size_t j = 0; j < features; ++j) x[j] = std::sin(static_cast<double>(j) + 1);
  return x;
}

constexpr Loss kLosses[] = {Loss::logistic, Loss::least_squares};

TEST(Problem, GradientIsTheSlopeOfTheValue) {
  for (const Loss loss : kLosses) {
    const data::Dataset data = generate(loss);
    const Problem problem(data, loss, 0.3);
    std::vector<double> x = some_point(7);
    std::vector<double> gradient(7);
    problem.gradient(x, gradient);
    for (std::size_t j = 0; j < 7; ++j) {
      constexpr double kStep = 1e-6;
      std::vector<double> up = x, down = x;
      up[j] += kStep;
      down[j] -= kStep;
      EXPECT_NEAR(gradient[j], (problem.value(up) - problem.value(down)) / (2 * kStep), 1e-8);
    }
  }
}

TEST(Problem, WeightedMeanOfTheWorkersGradientsIsTheGradient) {
  for (const Loss loss : kLosses) {
    const data::Dataset data = generate(loss);
    const Problem problem(data, loss, 0.3);
    const std::vector<double> x = some_point(7);
    std::vector<double> whole(7), part(7), mean(7);
    problem.gradient(x, whole);
    const auto shards = data::split_rows(data::parse_split("dirichlet(0.1)"), data.labels, 5, 1);
    for (const data::Shard& shard : shards) {
      problem.gradient(shard.rows, x, part);
      for (std::size_t j = 0; j < 7; ++j) mean[j] += shard.weight * part[j] / 5;
    }
    for (std::size_t j = 0; j < 7; ++j) EXPECT_NEAR(mean[j], whole[j], 1e-14);
  }
}

TEST(Problem, GradientOverNoRowsIsZero) {
  const data::Dataset data = generate(Loss::logistic);
  std::vector<double> gradient(7, 5);
  Problem(data, Loss::logistic, 0.3).gradient(RowNumbers{}, some_point(7), gradient);
  EXPECT_EQ(gradient, std::vector<double>(7, 0));
}

TEST(Problem, LogisticLossIsRightWhereExponentialsOverflow) {
  data::Dataset data;
  data.rows = {.features = 1, .starts = {0, 1, 2}, .columns = {0, 0}, .values = {1, 1}};
  data.labels = {1, -1};
  const Problem problem(data, Loss::logistic, 0);
  EXPECT_EQ(problem.value(std::vector<double>{1e4}), 5e3);
  EXPECT_EQ(problem.value(std::vector<double>{-1e4}), 5e3);
  std::vector<double> gradient(1);
  problem.gradient(std::vector<double>{1e4}, gradient);
  EXPECT_EQ(gradient[0], 0.5);
}

TEST(Problem, SmoothnessIsTheLargestEigenvalue) {
  const data::Dataset data = generate(Loss::least_squares);
  Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(60, 7);
  for (std::size_t i = 0; i < 60; ++i) {
    const data::SparseRow row = data.rows.row(i);
    for (std::size_t k = 0; k < row.columns.size(); ++k) {
      rows(static_cast<Eigen::Index>(i), row.columns[k]) = row.values[k];
    }
  }
  const Eigen::MatrixXd second = rows.transpose() * rows / 60;
  const double largest =
      Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(second).eigenvalues().maxCoeff();
  EXPECT_NEAR(smoothness(data, Loss::least_squares, data::all_rows(data)) / largest, 1, 1e-6);
  EXPECT_NEAR(smoothness(data, Loss::logistic, data::all_rows(data)) / largest, 0.25, 1e-6);
  EXPECT_EQ(smoothness(data, Loss::logistic, {}), 0);
}

TEST(Problem, SumLosesNothing) {
  Sum sum;
  sum.add(1e16);
  for (int i = 0; i < 10; ++i) sum.add(1);
  sum.add(-1e16);
  EXPECT_EQ(sum.value(), 10);
}

TEST(Generated, IsAFunctionOfTheSeed) {
  EXPECT_EQ(data::data_checksum(generate_classes({.seed = 1})),
            data::data_checksum(generate_classes({.seed = 1})));
  EXPECT_NE(data::data_checksum(generate_classes({.seed = 1})),
            data::data_checksum(generate_classes({.seed = 2})));
}

TEST(Generated, BothClassesAreThereAndWorkersDiffer) {
  const data::Dataset data = generate_classes({});
  EXPECT_EQ(data.rows.size(), 2000u);
  EXPECT_EQ(data.rows.features, 40u);
  const auto positive = std::ranges::count(data.labels, 1.0);
  EXPECT_GT(positive, 500);
  EXPECT_LT(positive, 1500);
}

}  // namespace
}  // namespace gradwire::convex
