#include "gradwire/method/levels/parts.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace gradwire {
namespace {

const std::vector<MethodTensor> kTensors = {{"w1", {64, 100}},      {"b1", {64}},
                                            {"one row", {1, 9000}}, {"none", {0}},
                                            {"w2", {5000}},         {"w3", {7, 1000}}};

// Together, parts are all elements, each once; within a place they are in the order of the tensors.
void expect_all_once(const std::vector<std::vector<TensorPiece>>& parts) {
  std::vector<std::vector<int>> times;
  for (const MethodTensor& tensor : kTensors) times.emplace_back(tensor.elements());
  for (const auto& part : parts) {
    EXPECT_TRUE(std::ranges::is_sorted(part, std::less<>(), &TensorPiece::tensor));
    for (const TensorPiece& piece : part) {
      for (std::size_t i = 0; i < piece.elements; ++i) ++times[piece.tensor][piece.first + i];
    }
  }
  for (const auto& of_tensor : times) {
    EXPECT_TRUE(std::ranges::all_of(of_tensor, [](int count) { return count == 1; }));
  }
}

std::size_t elements_of(const std::vector<TensorPiece>& part) {
  std::size_t elements = 0;
  for (const TensorPiece& piece : part) elements += piece.elements;
  return elements;
}

TEST(HostParts, AreAllElementsOnce) {
  for (const HostParts how : {HostParts::rows, HostParts::tensors, HostParts::one_rank}) {
    for (std::size_t places = 1; places <= 8; ++places) {
      expect_all_once(cut_for_hosts(kTensors, how, places));
    }
  }
}

TEST(HostParts, RowsAreSharedEvenlyAndKeepTheirLength) {
  const auto parts = cut_for_hosts(kTensors, HostParts::rows, 4);
  ASSERT_EQ(parts.size(), 4u);
  for (const auto& part : parts) {
    EXPECT_NEAR(static_cast<double>(elements_of(part)), 27464.0 / 4, 1000);
    EXPECT_EQ(shape_of_part(kTensors[0], part[0]), (std::vector<std::size_t>{16, 100}));
  }
}

TEST(HostParts, WholeTensorsAreDealt) {
  for (const auto& part : cut_for_hosts(kTensors, HostParts::tensors, 3)) {
    for (const TensorPiece& piece : part) {
      EXPECT_EQ(piece.elements, kTensors[piece.tensor].elements());
      EXPECT_EQ(shape_of_part(kTensors[piece.tensor], piece), kTensors[piece.tensor].shape);
    }
  }
}

TEST(HostParts, FewRanksSendSmallMessages) {
  constexpr std::size_t kKilo = 1000;
  const std::vector<MethodTensor> tensors = {{"w", {1000 * kKilo}}};  // 4 MB of floats
  const auto places = [&](const char* spec, std::size_t bytes_min) {
    return sending_places(tensors, parse_method(spec).up.get(), bytes_min, 4);
  };
  EXPECT_EQ(places("none", 1000 * kKilo), 4u);
  EXPECT_EQ(places("none", 1500 * kKilo), 2u);
  EXPECT_EQ(places("ef(topk(1%) | natural)", 1000 * kKilo), 1u);
  EXPECT_EQ(places("ef(topk(1%) | natural)", 0), 4u);
  EXPECT_EQ(places("powersgd(rank=4)", 1000 * kKilo), 4u) << "no codec says how large it is";
}

TEST(HostParts, OneRankHasAll) {
  const auto parts = cut_for_hosts(kTensors, HostParts::one_rank, 5);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].size(), kTensors.size());
}

}  // namespace
}  // namespace gradwire
