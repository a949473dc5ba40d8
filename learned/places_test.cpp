#include "learned/places.h"

#include "gtest/gtest.h"
#include "learned/lgc_test_support.h"

namespace gradwire::learned {
namespace {

constexpr std::size_t kFirst = 300;
constexpr std::size_t kSecond = 500;

std::vector<float> values() {
  std::vector<float> all(kFirst + kSecond);
  fill_random(1, 0, "values", all);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] *= i < kFirst ? 1.0F : 100.0F;
  return all;
}

PlaceMessage message(double share, const char* values) {
  return {{kFirst, kSecond}, share, values};
}

TEST(Places, EveryLayerHasItsLargestValuesAndItsUnit) {
  PlaceMessage places_message = message(0.02, "sign");
  const std::vector<float> all = values();
  const PlaceMessage::Written written = places_message.write(all, {});
  EXPECT_TRUE(written.is_finite);
  const auto places = places_message.read(written.bytes);
  ASSERT_TRUE(places.has_value());
  ASSERT_EQ(places->size(), 6U + 10U);
  const std::vector<float> picked = pick(*places, all);
  for (std::size_t i = 0; i < picked.size(); ++i) {
    EXPECT_EQ(places->at[i] < kFirst, i < 6);
    EXPECT_GT(picked[i], 0.9F);  // of the leader's sign, and about 1
    EXPECT_LT(picked[i], 1.1F);
  }
}

TEST(Places, ThoseOfTheLargestUnitsComeFirst) {
  PlaceMessage places_message = message(0.2, "natural");
  const PlaceMessage::Written written = places_message.write(values(), {});
  const auto places = places_message.read(written.bytes);
  ASSERT_TRUE(places.has_value());
  for (std::size_t i = 1; i < places->size(); ++i) {
    if (i == 60) continue;  // the second layer
    const float before = std::abs(places->units[i - 1]);
    const float here = std::abs(places->units[i]);
    EXPECT_TRUE(before > here || (before == here && places->at[i - 1] < places->at[i])) << i;
  }
}

TEST(Places, WhatIsNoMessageIsRefused) {
  PlaceMessage places_message = message(0.02, "sign");
  std::vector<std::byte> bytes = places_message.write(values(), {}).bytes;
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(places_message.read(std::span(bytes).first(length)).has_value()) << length;
  }
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(places_message.read(bytes).has_value());
}

TEST(Places, NaNIsSeen) {
  PlaceMessage places_message = message(0.02, "sign");
  std::vector<float> all = values();
  all[7] = std::nanf("");
  EXPECT_FALSE(places_message.write(all, {}).is_finite);
}

TEST(Places, NoValueIsBeyondWhatACodeFollows) {
  EXPECT_EQ(in_units(1e30F, 1e-30F), 32.0F);
  EXPECT_EQ(in_units(-1e30F, 1e-30F), -32.0F);
  EXPECT_EQ(in_units(3.0F, -2.0F), -1.5F);
}

}  // namespace
}  // namespace gradwire::learned
