#include "gradwire/method/state.h"

#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

using Tensors = std::vector<StateTensor>;

TEST(StateDifferences, EqualListsHaveNone) {
  const Tensors tensors = {{"a", {3, 4}}, {"b", {5}}};
  EXPECT_EQ(differences(tensors, tensors), "");
  EXPECT_EQ(differences({}, {}), "");
}

TEST(StateDifferences, EveryOneIsNamed) {
  const Tensors ours = {{"a", {3, 4}}, {"b", {5}}, {"d", {}}};
  const Tensors saved = {{"a", {4, 3}}, {"c", {5}}, {"d", {}}};
  EXPECT_EQ(differences(ours, saved),
            "tensor 'a' has shape [3, 4], saved with [4, 3]; tensor 'b' was not saved; saved "
            "tensor 'c' is not here");
}

TEST(StateDifferences, AnotherOrderIsOne) {
  const Tensors ours = {{"a", {3}}, {"b", {3}}};
  const Tensors saved = {{"b", {3}}, {"a", {3}}};
  EXPECT_EQ(differences(ours, saved), "the order: tensor 0 is 'a', and was saved as 'b'");
  EXPECT_EQ(differences(ours, Tensors{{"a", {3}}, {"b", {3}}, {"a", {3}}}),
            "2 tensors are here, 3 were saved");
}

}  // namespace
}  // namespace gradwire
