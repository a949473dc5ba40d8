#include "gradwire/method/tensor_groups.h"

#include "gtest/gtest.h"

namespace gradwire {
namespace {

std::vector<std::size_t> counts(const TensorGroups& groups) {
  std::vector<std::size_t> counts;
  for (const TensorGroup& group : groups) counts.push_back(group.count);
  return counts;
}

TEST(TensorGroups, EndWithTheTensorThatBringsThemToTheirSize) {
  const std::vector<MethodTensor> tensors = {{"a", {30}},  {"b", {70}}, {"c", {1}},
                                             {"d", {200}}, {"e", {0}},  {"f", {5}}};
  const TensorGroups groups(tensors, 100);
  EXPECT_EQ(counts(groups), (std::vector<std::size_t>{2, 2, 2}));
  for (std::size_t i = 0, first = 0; i < groups.size(); first = groups[i++].end()) {
    EXPECT_EQ(groups[i].first, first);
    for (std::size_t tensor = first; tensor < groups[i].end(); ++tensor) {
      EXPECT_EQ(groups.group_of(tensor), i);
    }
  }
  EXPECT_EQ(counts(TensorGroups(tensors, 0)), (std::vector<std::size_t>(6, 1)));
  EXPECT_EQ(counts(TensorGroups(tensors, std::size_t(-1))), (std::vector<std::size_t>{6}));
  EXPECT_EQ(TensorGroups({}, 100).size(), 0U);
}

TEST(TensorGroups, AFewForEachModelButNoneTooSmallOrTooLarge) {
  EXPECT_EQ(group_elements_for(0), std::size_t{1} << 18);
  EXPECT_EQ(group_elements_for(1000), std::size_t{1} << 18);
  EXPECT_EQ(group_elements_for(2'000'000), 500'000U);
  EXPECT_EQ(group_elements_for(100'000'000), std::size_t{1} << 20);
  EXPECT_EQ(MethodOptions().group_elements, kGroupElementsMax);
}

}  // namespace
}  // namespace gradwire
