#include "gradwire/method/lgc/shared_indices.h"

#include "gradwire/core/error.h"
#include "gradwire/method/lgc/test_support.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

constexpr std::size_t kFirst = 300;
constexpr std::size_t kSecond = 500;
const std::vector<LayerShape> kLayers = {{.rows = 20, .columns = 15},
                                         {.rows = 10, .columns = 50, .kernel = 5, .width = 5}};

std::vector<float> values() {
  std::vector<float> all(kFirst + kSecond);
  fill_random(1, 0, "values", all);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] *= i < kFirst ? 1.0F : 100.0F;
  return all;
}

IndexMessage message(double share, const char* values) { return {kLayers, share, values}; }

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

// Values of which the same rows are the largest at every step.
std::vector<float> values_by_row(std::uint64_t step) {
  std::vector<float> all(kFirst + kSecond);
  fill_random(1, step, "values", all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t row = i < kFirst ? i / 15 : (i - kFirst) / 50;
    all[i] *= row % 5 == 0 ? 10.0F : 1.0F;
  }
  return all;
}

TEST(SharedIndices, HistoryMakesMessagesShorterAndIsSaved) {
  IndexMessage sender = message(0.05, "sign");
  IndexMessage receiver = message(0.05, "sign");
  std::size_t first_bytes = 0;
  std::size_t bytes = 0;
  for (std::uint64_t step = 0; step < 60; ++step) {
    const std::vector<std::byte> written = sender.write(values_by_row(step), {}).bytes;
    bytes = written.size();
    if (step == 0) first_bytes = bytes;
    ASSERT_TRUE(sender.read(written).has_value());
    const auto read = receiver.read(written);
    ASSERT_TRUE(read.has_value()) << read.error().what;
    ASSERT_EQ(read->size(), 15U + 25U);
    if (step == 20) continue;  // as after poison: no rank records it
    sender.record();
    receiver.record();
    ASSERT_EQ(sender.mark(), receiver.mark());
    if (step != 40) continue;
    // A third takes the place of the receiver.
    IndexMessage loaded = message(0.05, "sign");
    EXPECT_NE(loaded.mark(), receiver.mark());
    loaded.load(receiver.save());
    EXPECT_EQ(loaded.save(), receiver.save());
    receiver = std::move(loaded);
  }
  EXPECT_LT(bytes, first_bytes);
  receiver.forget();
  EXPECT_EQ(receiver.mark(), 0U);
}

TEST(SharedIndices, HistoryOfAnotherModelIsRefused) {
  IndexMessage index_message = message(0.05, "sign");
  std::vector<std::byte> saved = index_message.save();
  saved.pop_back();
  EXPECT_THROW(index_message.load(saved), Error);
  saved = index_message.save();
  saved[4 + KernelModel::saved_bytes() + 8] = std::byte{0};  // an age
  EXPECT_THROW(index_message.load(saved), Error);
}

TEST(SharedIndices, NoValueIsBeyondWhatACodeFollows) {
  EXPECT_EQ(in_units(1e30F, 1e-30F), 32.0F);
  EXPECT_EQ(in_units(-1e30F, 1e-30F), -32.0F);
  EXPECT_EQ(in_units(3.0F, -2.0F), -1.5F);
}

}  // namespace
}  // namespace gradwire
