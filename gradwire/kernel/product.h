// Products of matrices, for convolutions: rows of a matrix may overlap, as those of a signal do
// that a kernel passes over. Every element of the result is one sum in the order of the inner
// index: vectors hold neighbouring columns, so that their width does not change a bit. Pure
// functions.
#pragma once

#include <cstddef>
#include <span>

namespace gradwire::kernel {

struct ProductSize {
  std::size_t rows = 0;
  std::size_t inner = 0;
  std::size_t columns = 0;
};

// Element (row, inner) is values[row * row_stride + inner * inner_stride].
struct LeftMatrix {
  std::span<const float> values;
  std::size_t row_stride = 0;
  std::size_t inner_stride = 1;
};

// Element (inner, column) is values[inner * stride + column].
struct RightMatrix {
  std::span<const float> values;
  std::size_t stride = 0;
};

// Element (row, column) is values[row * stride + column]. Its rows do not overlap.
struct ProductMatrix {
  std::span<float> values;
  std::size_t stride = 0;
};

// out += left right. `out` overlaps neither of them.
void add_product(const ProductSize& size, const LeftMatrix& left, const RightMatrix& right,
                 const ProductMatrix& out);

namespace scalar {
void add_product(const ProductSize& size, const LeftMatrix& left, const RightMatrix& right,
                 const ProductMatrix& out);
}  // namespace scalar

}  // namespace gradwire::kernel
