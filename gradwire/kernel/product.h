// Products of matrices, for convolutions. Rows of the left matrix may overlap: with strides, a
// signal is the matrix of its windows. Each element of the result is one sum in the order of the
// inner index. Vectors hold neighbouring columns, so their width does not change the result. Pure
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

// out += left * right. `out` must not overlap the others.
void add_product(const ProductSize& size, const LeftMatrix& left, const RightMatrix& right,
                 const ProductMatrix& out);

namespace scalar {
void add_product(const ProductSize& size, const LeftMatrix& left, const RightMatrix& right,
                 const ProductMatrix& out);
}  // namespace scalar

}  // namespace gradwire::kernel
