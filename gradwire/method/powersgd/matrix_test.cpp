#include "gradwire/method/powersgd/matrix.h"

#include <cmath>
#include <vector>

#include "gradwire/core/random.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

using Floats = std::vector<float>;

Floats random_values(std::size_t count, std::uint32_t stage) {
  const RandomStream random = Rng{.seed = 3, .purpose = Purpose::data}.stream(stage, 0);
  Floats values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(random.at(static_cast<std::uint32_t>(i)) >> 8) * 0x1p-23F - 1;
  }
  return values;
}

void fill_fresh(std::size_t column, std::size_t attempt, std::span<float> values) {
  const Floats fresh =
      random_values(values.size(), static_cast<std::uint32_t>(100 + 10 * column + attempt));
  std::copy(fresh.begin(), fresh.end(), values.begin());
}

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

void expect_orthonormal(const Floats& columns, std::size_t length) {
  const auto column = [&](std::size_t k) { return std::span(columns).subspan(k * length, length); };
  for (std::size_t k = 0; k < columns.size() / length; ++k) {
    EXPECT_NEAR(dot(column(k), column(k)), 1, 1e-6);
    for (std::size_t l = 0; l < k; ++l) EXPECT_NEAR(dot(column(k), column(l)), 0, 1e-6);
  }
}

constexpr MatrixSize kSizes[] = {{1, 1, 1}, {3, 40, 2}, {17, 5, 5}, {33, 49, 3}, {8, 300, 8}};

TEST(PowerSgdMatrix, ProductsAreThoseOfTheDefinition) {
  for (const MatrixSize& size : kSizes) {
    const auto [n, m, r] = size;
    const Floats matrix = random_values(size.elements(), 0);
    const Floats left = random_values(size.left_elements(), 1);
    const Floats right = random_values(size.right_elements(), 2);
    Floats product_left(left.size());
    Floats product_right(right.size());
    Floats product(matrix.size());
    Floats rest(matrix.size());
    multiply(size, matrix, right, product_left);
    multiply_transposed(size, matrix, left, product_right);
    multiply_out(size, left, right, product);
    subtract_product(size, matrix, left, right, rest);
    Floats expected_left(left.size());
    Floats expected_right(right.size());
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < m; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < r; ++k) {
          expected_left[k * n + i] += matrix[i * m + j] * right[k * m + j];
          expected_right[k * m + j] += matrix[i * m + j] * left[k * n + i];
          sum += double{left[k * n + i]} * double{right[k * m + j]};
        }
        EXPECT_NEAR(product[i * m + j], sum, 1e-5);
        EXPECT_EQ(rest[i * m + j], matrix[i * m + j] - product[i * m + j]);
      }
    }
    for (std::size_t i = 0; i < left.size(); ++i) {
      EXPECT_NEAR(product_left[i], expected_left[i], 1e-4);
    }
    for (std::size_t i = 0; i < right.size(); ++i) {
      EXPECT_NEAR(product_right[i], expected_right[i], 1e-4);
    }
  }
}

TEST(PowerSgdMatrix, ColumnsBecomeOrthonormalAndKeepTheirSpan) {
  constexpr std::size_t kLength = 50;
  const Floats given = random_values(6 * kLength, 0);
  Floats columns = given;
  orthonormalise(kLength, columns, fill_fresh);
  expect_orthonormal(columns, kLength);
  for (std::size_t k = 0; k < 6; ++k) {  // column k is a combination of the first k + 1
    const auto column = std::span(given).subspan(k * kLength, kLength);
    double squares = 0;
    for (std::size_t l = 0; l <= k; ++l) {
      const double common = dot(column, std::span(columns).subspan(l * kLength, kLength));
      squares += common * common;
    }
    EXPECT_NEAR(squares / dot(column, column), 1, 1e-6);
  }
}

TEST(PowerSgdMatrix, ColumnsThatAreNearlyTheSameStillBecomeOrthogonal) {
  constexpr std::size_t kLength = 200;
  Floats columns = random_values(4 * kLength, 0);
  for (std::size_t i = kLength; i < columns.size(); ++i) {
    columns[i] = columns[i % kLength] + 1e-3F * columns[i];
  }
  orthonormalise(kLength, columns, fill_fresh);
  expect_orthonormal(columns, kLength);
}

TEST(PowerSgdMatrix, ColumnsThatVanishAreReplaced) {
  constexpr std::size_t kLength = 20;
  Floats columns(5 * kLength);  // one direction three times, and two zeros
  const Floats one = random_values(kLength, 0);
  for (const std::size_t k : {0U, 2U, 3U}) {
    for (std::size_t i = 0; i < kLength; ++i) {
      columns[k * kLength + i] = static_cast<float>(k + 1) * one[i];
    }
  }
  orthonormalise(kLength, columns, fill_fresh);
  expect_orthonormal(columns, kLength);
}

TEST(PowerSgdMatrix, AsManyColumnsAsThereAreDimensions) {
  Floats columns(4 * 4);
  orthonormalise(4, columns, fill_fresh);
  expect_orthonormal(columns, 4);
}

TEST(PowerSgdMatrix, HugeAndTinyColumnsAreNormalised) {
  for (const float scale : {1e38F, 1e-38F, 1e-44F}) {
    Floats columns = random_values(2 * 30, 0);
    for (float& value : columns) value *= scale;
    Floats same = columns;
    orthonormalise(30, columns, fill_fresh);
    expect_orthonormal(columns, 30);
    normalise(30, same);
    EXPECT_NEAR(dot(same, same), 2, 1e-6);
  }
  Floats zeros(30);
  normalise(30, zeros);
  EXPECT_EQ(zeros, Floats(30));
}

}  // namespace
}  // namespace gradwire
