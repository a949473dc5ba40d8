#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gradwire/kernel/product.cpp"
#include "gradwire/kernel/product.h"

#include <hwy/foreach_target.h>

#include <algorithm>

#include "gradwire/core/check.h"
#include "gradwire/kernel/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradwire::kernel::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
using scalar::add_product;
#else

// A tile of the result stays in registers while the inner index runs: few enough sums for the 16
// registers of AVX2, and enough to hide the latency of an addition.
inline constexpr std::size_t kTileRows = 4;
inline constexpr std::size_t kPanelVectors = 2;
inline constexpr std::size_t kPanelColumns = kPanelVectors * kLanes;
// Columns of the right matrix are copied to a panel that half a first-level cache holds.
inline constexpr std::size_t kPanelBytes = 16 * 1024;
inline constexpr std::size_t kPanelInner = kPanelBytes / (kPanelColumns * sizeof(float));

// Some columns of the right matrix for some inner indices, padded with zeros to whole vectors.
struct Panel {
  alignas(64) float values[kPanelInner * kPanelColumns];

  HWY_INLINE void load(const RightMatrix& right, std::size_t first, std::size_t inner,
                       std::size_t column, std::size_t columns) {
    const float* from = right.values.data() + first * right.stride + column;
    float* to = values;
    for (std::size_t k = 0; k < inner; ++k, from += right.stride, to += kPanelColumns) {
      std::memcpy(to, from, columns * sizeof(float));
      std::memset(to + columns, 0, (kPanelColumns - columns) * sizeof(float));
    }
  }
};

// Adds `inner` terms to the sums of kRows rows of so many vectors.
template <std::size_t kRows, std::size_t kVectors>
HWY_INLINE void add_tile(const float* left, const LeftMatrix& strides, const Panel& panel,
                         std::size_t inner, float* out, std::size_t out_stride) {
  const F32 d;
  VF sums[kRows][kVectors];
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      sums[r][v] = hn::LoadU(d, out + r * out_stride + v * kLanes);
    }
  }
  const float* column = panel.values;
  for (std::size_t k = 0; k < inner; ++k) {
    VF factors[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) factors[v] = hn::Load(d, column + v * kLanes);
    for (std::size_t r = 0; r < kRows; ++r) {
      const VF factor = hn::Set(d, left[r * strides.row_stride]);
      for (std::size_t v = 0; v < kVectors; ++v) {
        sums[r][v] = hn::Add(sums[r][v], hn::Mul(factor, factors[v]));
      }
    }
    left += strides.inner_stride;
    column += kPanelColumns;
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(sums[r][v], d, out + r * out_stride + v * kLanes);
    }
  }
}

// The same for columns that are not whole vectors: by a copy of the sums.
template <std::size_t kRows, std::size_t kVectors>
HWY_INLINE void add_narrow_tile(const float* left, const LeftMatrix& strides, const Panel& panel,
                                std::size_t inner, float* out, std::size_t out_stride,
                                std::size_t columns) {
  HWY_ALIGN float padded[kRows * kVectors * kLanes] = {};
  for (std::size_t r = 0; r < kRows; ++r) {
    std::memcpy(padded + r * kVectors * kLanes, out + r * out_stride, columns * sizeof(float));
  }
  add_tile<kRows, kVectors>(left, strides, panel, inner, padded, kVectors * kLanes);
  for (std::size_t r = 0; r < kRows; ++r) {
    std::memcpy(out + r * out_stride, padded + r * kVectors * kLanes, columns * sizeof(float));
  }
}

template <std::size_t kRows>
HWY_INLINE void add_rows(const float* left, const LeftMatrix& strides, const Panel& panel,
                         std::size_t inner, float* out, std::size_t out_stride,
                         std::size_t columns) {
  if (columns == kPanelColumns) {
    add_tile<kRows, kPanelVectors>(left, strides, panel, inner, out, out_stride);
  } else if (columns > kLanes) {
    add_narrow_tile<kRows, kPanelVectors>(left, strides, panel, inner, out, out_stride, columns);
  } else if (columns == kLanes) {
    add_tile<kRows, 1>(left, strides, panel, inner, out, out_stride);
  } else {
    add_narrow_tile<kRows, 1>(left, strides, panel, inner, out, out_stride, columns);
  }
}

void add_product(const ProductSize& size, const LeftMatrix& left, const RightMatrix& right,
                 const ProductMatrix& out) {
  Panel panel;
  for (std::size_t first = 0; first < size.inner; first += kPanelInner) {
    const std::size_t inner = HWY_MIN(kPanelInner, size.inner - first);
    for (std::size_t column = 0; column < size.columns; column += kPanelColumns) {
      const std::size_t columns = HWY_MIN(kPanelColumns, size.columns - column);
      panel.load(right, first, inner, column, columns);
      const float* from = left.values.data() + first * left.inner_stride;
      float* to = out.values.data() + column;
      std::size_t row = 0;
      for (; row + kTileRows <= size.rows; row += kTileRows) {
        add_rows<kTileRows>(from + row * left.row_stride, left, panel, inner, to + row * out.stride,
                            out.stride, columns);
      }
      for (; row < size.rows; ++row) {
        add_rows<1>(from + row * left.row_stride, left, panel, inner, to + row * out.stride,
                    out.stride, columns);
      }
    }
  }
}

#endif  // HWY_TARGET

}  // namespace gradwire::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradwire::kernel {

HWY_EXPORT(add_product);

void add_product(const ProductSize& size, const LeftMatrix& left, const RightMatrix& right,
                 const ProductMatrix& out) {
  if (size.rows == 0 || size.inner == 0 || size.columns == 0) return;
  GW_CHECK((size.rows - 1) * left.row_stride + (size.inner - 1) * left.inner_stride <
           left.values.size());
  GW_CHECK((size.inner - 1) * right.stride + size.columns <= right.values.size());
  GW_CHECK((size.rows - 1) * out.stride + size.columns <= out.values.size());
  GW_CHECK(size.rows == 1 || out.stride >= size.columns);
  HWY_DYNAMIC_DISPATCH(add_product)(size, left, right, out);
}

namespace scalar {

void add_product(const ProductSize& size, const LeftMatrix& left, const RightMatrix& right,
                 const ProductMatrix& out) {
  for (std::size_t row = 0; row < size.rows; ++row) {
    for (std::size_t column = 0; column < size.columns; ++column) {
      float& sum = out.values[row * out.stride + column];
      for (std::size_t k = 0; k < size.inner; ++k) {
        sum += left.values[row * left.row_stride + k * left.inner_stride] *
               right.values[k * right.stride + column];
      }
    }
  }
}

}  // namespace scalar
}  // namespace gradwire::kernel
#endif  // HWY_ONCE
