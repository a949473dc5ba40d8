#include "bench/tensor_list.h"

#include <algorithm>
#include <set>

#include "gtest/gtest.h"

namespace gradwire::bench {
namespace {

TEST(ModelTensors, HoldAllElementsAndNoneIsEmpty) {
  for (const std::size_t tensors : {1, 2, 7, 300}) {
    for (const std::size_t elements : {300ul, 301ul, 11'000'000ul, 1ul << 40}) {
      const auto list = model_tensors(elements, tensors);
      ASSERT_EQ(list.size(), tensors);
      std::size_t sum = 0;
      std::set<std::string> names;
      for (const TensorSize& tensor : list) {
        EXPECT_GE(tensor.elements, 1u);
        sum += tensor.elements;
        names.insert(tensor.name);
      }
      EXPECT_EQ(sum, elements);
      EXPECT_EQ(names.size(), tensors);
    }
  }
}

TEST(ModelTensors, DifferInSizeByDecades) {
  const auto list = model_tensors(11'000'000, 300);
  const auto [least, most] = std::ranges::minmax(list, {}, &TensorSize::elements);
  EXPECT_GT(most.elements, 10'000 * least.elements);
}

TEST(ModelTensors, BecomeMatricesWhereTheyCan) {
  const auto matrices = as_matrices({{"square", 4096 * 4096}, {"prime", 10007}, {"few", 12}});
  EXPECT_EQ(matrices[0].shape, (std::vector<std::size_t>{4096, 4096}));
  EXPECT_EQ(matrices[1].shape, std::vector<std::size_t>{10007});
  EXPECT_EQ(matrices[2].shape, std::vector<std::size_t>{12});
}

}  // namespace
}  // namespace gradwire::bench
