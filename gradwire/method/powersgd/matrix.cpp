#include "gradwire/method/powersgd/matrix.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "gradwire/core/check.h"

namespace gradwire {
namespace {

constexpr std::size_t kLanes = 16;

// Of a sum over lanes: element j belongs to lane j mod kLanes, and the upper half of the lanes is
// added to the lower one until one is left.
template <class Sum>
Sum add_lanes(std::array<Sum, kLanes>& lanes) {
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

// Calls add(j, lane) for each j below `count`, so that compilers make vectors of lanes.
template <class Add>
void for_lanes(std::size_t count, const Add& add) {
  std::size_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(j + lane, lane);
  }
  for (std::size_t lane = 0; j + lane < count; ++lane) add(j + lane, lane);
}

float dot(std::span<const float> a, std::span<const float> b) {
  std::array<float, kLanes> lanes{};
  for_lanes(a.size(), [&](std::size_t j, std::size_t lane) { lanes[lane] += a[j] * b[j]; });
  return add_lanes(lanes);
}

double exact_dot(std::span<const float> a, std::span<const float> b) {
  std::array<double, kLanes> lanes{};
  for_lanes(a.size(),
            [&](std::size_t j, std::size_t lane) { lanes[lane] += double{a[j]} * double{b[j]}; });
  return add_lanes(lanes);
}

double norm(std::span<const float> values) { return std::sqrt(exact_dot(values, values)); }

// target += factor * values
void add_scaled(float factor, std::span<const float> values, std::span<float> target) {
  for (std::size_t j = 0; j < target.size(); ++j) target[j] += factor * values[j];
}

void scale_by(double factor, std::span<float> values) {
  for (float& value : values) value = static_cast<float>(double{value} * factor);
}

// Removes from `column` what it has in common with the orthonormal columns before it.
void remove_common(std::span<const float> before, std::span<float> column) {
  for (std::size_t at = 0; at < before.size(); at += column.size()) {
    const std::span<const float> other = before.subspan(at, column.size());
    const double common = exact_dot(other, column);
    for (std::size_t i = 0; i < column.size(); ++i) {
      column[i] = static_cast<float>(double{column[i]} - common * double{other[i]});
    }
  }
}

// Gives the column the length 1, and returns the one it had; zeros stay zeros.
double normalise_column(std::span<float> column) {
  const double length = norm(column);
  if (length > 0) scale_by(1 / length, column);
  return length;
}

// False if the column was zero or, up to rounding, a combination of those before it.
bool orthonormalise_column(std::span<const float> before, std::span<float> column) {
  // Where less than this is left of a column of length 1, it is what rounding left.
  constexpr double kRoundingLength = 0x1p-18;
  // Where a pass takes away more than half, a second one removes what rounding left of it.
  constexpr double kEnoughLength = 0.5;
  if (normalise_column(column) == 0) return false;
  remove_common(before, column);
  const double left = normalise_column(column);
  if (left <= kRoundingLength) return false;
  if (left >= kEnoughLength) return true;
  remove_common(before, column);
  return normalise_column(column) >= kEnoughLength;
}

}  // namespace

void multiply(const MatrixSize& size, std::span<const float> matrix, std::span<const float> right,
              std::span<float> left) {
  for (std::size_t row = 0; row < size.rows; ++row) {
    const auto values = matrix.subspan(row * size.columns, size.columns);
    for (std::size_t k = 0; k < size.rank; ++k) {
      left[k * size.rows + row] = dot(values, right.subspan(k * size.columns, size.columns));
    }
  }
}

// A few rows at a time, since the factor is read and written once for each time.
void multiply_transposed(const MatrixSize& size, std::span<const float> matrix,
                         std::span<const float> left, std::span<float> right) {
  constexpr std::size_t kRows = 4;
  const std::size_t columns = size.columns;
  std::ranges::fill(right, 0.0F);
  std::size_t row = 0;
  for (; row + kRows <= size.rows; row += kRows) {
    const float* const m = matrix.data() + row * columns;
    for (std::size_t k = 0; k < size.rank; ++k) {
      const auto p = left.subspan(k * size.rows + row).first<kRows>();
      float* const q = right.data() + k * columns;
      for (std::size_t j = 0; j < columns; ++j) {
        q[j] += (p[0] * m[j] + p[1] * m[columns + j]) +
                (p[2] * m[2 * columns + j] + p[3] * m[3 * columns + j]);
      }
    }
  }
  for (; row < size.rows; ++row) {
    const auto values = matrix.subspan(row * columns, columns);
    for (std::size_t k = 0; k < size.rank; ++k) {
      add_scaled(left[k * size.rows + row], values, right.subspan(k * columns, columns));
    }
  }
}

// A few columns at a time, added one after the other all the same.
void multiply_out(const MatrixSize& size, std::span<const float> left, std::span<const float> right,
                  std::span<float> matrix) {
  constexpr std::size_t kColumns = 4;
  const std::size_t columns = size.columns;
  for (std::size_t row = 0; row < size.rows; ++row) {
    const auto values = matrix.subspan(row * columns, columns);
    const auto p = [&](std::size_t k) { return left[k * size.rows + row]; };
    std::ranges::fill(values, 0.0F);
    std::size_t k = 0;
    for (; k + kColumns <= size.rank; k += kColumns) {
      const std::array<float, kColumns> factors = {p(k), p(k + 1), p(k + 2), p(k + 3)};
      const float* const q = right.data() + k * columns;
      for (std::size_t j = 0; j < columns; ++j) {
        values[j] = (((values[j] + factors[0] * q[j]) + factors[1] * q[columns + j]) +
                     factors[2] * q[2 * columns + j]) +
                    factors[3] * q[3 * columns + j];
      }
    }
    for (; k < size.rank; ++k) add_scaled(p(k), right.subspan(k * columns, columns), values);
  }
}

void subtract_product(const MatrixSize& size, std::span<const float> matrix,
                      std::span<const float> left, std::span<const float> right,
                      std::span<float> rest) {
  multiply_out(size, left, right, rest);
  for (std::size_t i = 0; i < rest.size(); ++i) rest[i] = matrix[i] - rest[i];
}

void orthonormalise(std::size_t length, std::span<float> columns, const FreshColumn& fresh) {
  constexpr std::size_t kAttempts = 8;  // each fails only if its numbers are very unlucky
  for (std::size_t at = 0; at < columns.size(); at += length) {
    const std::span<const float> before = columns.first(at);
    const std::span<float> column = columns.subspan(at, length);
    bool is_done = orthonormalise_column(before, column);
    for (std::size_t attempt = 0; !is_done && attempt < kAttempts; ++attempt) {
      fresh(at / length, attempt, column);
      is_done = orthonormalise_column(before, column);
    }
    if (!is_done) std::ranges::fill(column, 0.0F);  // nothing is sent in its direction
  }
}

void normalise(std::size_t length, std::span<float> columns) {
  GW_CHECK(length > 0);
  for (std::size_t at = 0; at < columns.size(); at += length) {
    normalise_column(columns.subspan(at, length));
  }
}

}  // namespace gradwire
