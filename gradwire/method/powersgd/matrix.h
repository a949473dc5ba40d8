// The linear algebra of powersgd, on a matrix M of rows x columns and two thin factors: P has
// `rank` columns of `rows` values, Q has `rank` columns of `columns` values. Matrices lie row by
// row, factors column by column.
//
// The order of addition depends on sizes alone, so every machine gets the same bits. A BLAS library
// would choose the order by the size of its caches. Pure functions.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace gradwire {

struct MatrixSize {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t rank = 0;

  std::size_t elements() const { return rows * columns; }
  std::size_t left_elements() const { return rows * rank; }      // of P
  std::size_t right_elements() const { return columns * rank; }  // of Q
};

// P = M Q
void multiply(const MatrixSize& size, std::span<const float> matrix, std::span<const float> right,
              std::span<float> left);

// Q = M^T P
void multiply_transposed(const MatrixSize& size, std::span<const float> matrix,
                         std::span<const float> left, std::span<float> right);

// M = P Q^T
void multiply_out(const MatrixSize& size, std::span<const float> left, std::span<const float> right,
                  std::span<float> matrix);

// rest = M - P Q^T
void subtract_product(const MatrixSize& size, std::span<const float> matrix,
                      std::span<const float> left, std::span<const float> right,
                      std::span<float> rest);

// Fills a column with new numbers, independent of all other columns; `attempt` counts from 0.
using FreshColumn =
    std::function<void(std::size_t column, std::size_t attempt, std::span<float> values)>;

// Makes finite columns of `length` values orthogonal and of length 1, in their order (modified Gram
// and Schmidt). A column that depends linearly on those before it is replaced by a fresh one.
void orthonormalise(std::size_t length, std::span<float> columns, const FreshColumn& fresh);

// Gives columns of `length` values the length 1; those that are zero stay so.
void normalise(std::size_t length, std::span<float> columns);

}  // namespace gradwire
