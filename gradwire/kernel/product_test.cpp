#include "gradwire/kernel/product.h"

#include <vector>

#include "gradwire/kernel/test_support.h"

namespace gradwire::kernel {
namespace {

// Sizes around those of tiles, panels and vectors.
constexpr std::size_t kRows[] = {0, 1, 3, 4, 5, 9};
constexpr std::size_t kInner[] = {0, 1, 2, 127, 129, 300, 520};
constexpr std::size_t kColumns[] = {0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65};

// Calls check(size, left, right, out) on every target for all sizes, with out of a few more
// columns.
template <class Check>
void for_sizes(Input input, const Check& check) {
  for_each_target([&](const std::string& target) {
    for (const std::size_t rows : kRows) {
      for (const std::size_t inner : kInner) {
        for (const std::size_t columns : kColumns) {
          SCOPED_TRACE(target + ", " + std::to_string(rows) + " x " + std::to_string(inner) +
                       " x " + std::to_string(columns));
          const TestValues left = test_values(input, rows * inner, rows % 4, 1);
          const TestValues right = test_values(input, inner * columns, inner % 4, 2);
          const TestValues out = test_values(input, rows * (columns + 2), columns % 4, 3);
          check(ProductSize{rows, inner, columns}, left.values, right.values, out.values);
        }
      }
    }
  });
}

void expect_twins(const ProductSize& size, const LeftMatrix& left, const RightMatrix& right,
                  std::span<const float> out) {
  std::vector<float> simd(out.begin(), out.end());
  std::vector<float> twin = simd;
  add_product(size, left, right, {simd, size.columns + 2});
  scalar::add_product(size, left, right, {twin, size.columns + 2});
  expect_same(simd, twin);
}

TEST(ProductKernel, MultipliesAsItsScalarTwin) {
  for (const Input input : {Input::gaussian, Input::hostile}) {
    for_sizes(input, [](const ProductSize& size, std::span<const float> left,
                        std::span<const float> right, std::span<const float> out) {
      expect_twins(size, {left, size.inner}, {right, size.columns}, out);
    });
  }
}

TEST(ProductKernel, MultipliesATransposedMatrixAsItsScalarTwin) {
  for_sizes(Input::gaussian, [](const ProductSize& size, std::span<const float> left,
                                std::span<const float> right, std::span<const float> out) {
    expect_twins(size, {left, 1, size.rows}, {right, size.columns}, out);
  });
}

TEST(ProductKernel, RowsOfTheLeftMatrixMayOverlap) {
  const std::vector<float> signal = {1, 2, 4, 8, 16};
  const std::vector<float> kernel = {1, 10, 100};
  std::vector<float> out = {0.5F, 0.25F};
  add_product({.rows = 2, .inner = 3, .columns = 1}, {signal, 2}, {kernel, 1}, {out, 1});
  EXPECT_EQ(out, (std::vector<float>{421.5F, 1684.25F}));
}

}  // namespace
}  // namespace gradwire::kernel
