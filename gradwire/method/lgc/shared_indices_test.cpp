#include "gradwire/method/lgc/shared_indices.h"

#include "gradwire/method/lgc/test_support.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

constexpr std::size_t kFirst = 300;
constexpr std::size_t kSecond = 500;

std::vector<float> values() {
  std::vector<float> all(kFirst + kSecond);
  fill_random(1, 0, "values", all);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] *= i < kFirst ? 1.0F : 100.0F;
  return all;
}

IndexMessage message(double share, const char* values) {
  return {{kFirst, kSecond}, share, values};
}

TEST(SharedIndices, EveryLayerHasItsLargestValuesAndItsUnit) {
  IndexMessage index_message = message(0.02, "sign");
  const std::vector<float> all = values();
  const IndexMessage::Written written = index_message.write(all, {});
  EXPECT_TRUE(written.is_finite);
  const auto indices = index_message.read(written.bytes);
  ASSERT_TRUE(indices.has_value());
  ASSERT_EQ(indices->size(), 6U + 10U);
  const std::vector<float> picked = pick(*indices, all);
  for (std::size_t i = 0; i < picked.size(); ++i) {
    EXPECT_EQ(indices->at[i] < kFirst, i < 6);
    EXPECT_GT(picked[i], 0.9F);  // of the leader's sign, and about 1
    EXPECT_LT(picked[i], 1.1F);
  }
}

TEST(SharedIndices, ThoseOfTheLargestUnitsComeFirst) {
  IndexMessage index_message = message(0.2, "natural");
  const IndexMessage::Written written = index_message.write(values(), {});
  const auto indices = index_message.read(written.bytes);
  ASSERT_TRUE(indices.has_value());
  for (std::size_t i = 1; i < indices->size(); ++i) {
    if (i == 60) continue;  // the second layer
    const float before = std::abs(indices->units[i - 1]);
    const float here = std::abs(indices->units[i]);
    EXPECT_TRUE(before > here || (before == here && indices->at[i - 1] < indices->at[i])) << i;
  }
}

TEST(SharedIndices, WhatIsNoMessageIsRefused) {
  IndexMessage index_message = message(0.02, "sign");
  std::vector<std::byte> bytes = index_message.write(values(), {}).bytes;
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(index_message.read(std::span(bytes).first(length)).has_value()) << length;
  }
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(index_message.read(bytes).has_value());
}

TEST(SharedIndices, NaNIsSeen) {
  IndexMessage index_message = message(0.02, "sign");
  std::vector<float> all = values();
  all[7] = std::nanf("");
  EXPECT_FALSE(index_message.write(all, {}).is_finite);
}

TEST(SharedIndices, NoValueIsBeyondWhatACodeFollows) {
  EXPECT_EQ(in_units(1e30F, 1e-30F), 32.0F);
  EXPECT_EQ(in_units(-1e30F, 1e-30F), -32.0F);
  EXPECT_EQ(in_units(3.0F, -2.0F), -1.5F);
}

}  // namespace
}  // namespace gradwire
