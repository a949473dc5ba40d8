#include "gradwire/collective/counted_ranks.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace gradwire {
namespace {

CountedRanks counted(std::size_t ranks, std::initializer_list<std::size_t> which) {
  CountedRanks counted(ranks);
  for (const std::size_t rank : which) counted.add(rank);
  return counted;
}

TEST(CountedRanks, AreReadAsTheyWereWritten) {
  for (const std::size_t ranks : {1u, 7u, 8u, 9u, 64u, 65u}) {
    const CountedRanks written = counted(ranks, {0, ranks / 2, ranks - 1});
    std::vector<std::byte> bytes(CountedRanks::bytes(ranks), std::byte{0xFF});
    written.write(bytes);
    CountedRanks read(ranks);
    ASSERT_TRUE(read.read(bytes).has_value()) << ranks;
    EXPECT_EQ(read, written) << ranks;
  }
}

TEST(CountedRanks, HaveOneBitEachTheFirstRankLowest) {
  std::array<std::byte, 2> bytes{};
  counted(10, {0, 2, 9}).write(bytes);
  EXPECT_EQ(bytes, (std::array{std::byte{0x05}, std::byte{0x02}}));
}

std::string refusal_of(std::size_t ranks, std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  CountedRanks read(ranks);
  const auto result = read.read(bytes);
  return result ? "" : result.error().what;
}

TEST(CountedRanks, RefuseOtherBytes) {
  EXPECT_EQ(refusal_of(4, {}), "counted ranks take another number of bytes");
  EXPECT_EQ(refusal_of(4, {1, 0}), "counted ranks take another number of bytes");
  EXPECT_EQ(refusal_of(4, {0x10}), "counts a rank that does not exist");
  EXPECT_EQ(refusal_of(9, {1, 2}), "counts a rank that does not exist");
  EXPECT_EQ(refusal_of(4, {0}), "counts no rank");
  EXPECT_EQ(refusal_of(9, {0, 1}), "");
}

// --- Behind a parcel ---

// A parcel of one payload, and whom it counts among four ranks.
std::vector<std::byte> counted_parcel(std::size_t payload_bytes) {
  std::vector<std::byte> bytes(parcel_head_bytes(1) + payload_bytes + CountedRanks::bytes(4));
  ParcelWriter parcel(bytes, 1, 2.0F);
  parcel.add(payload_bytes);
  counted(4, {1, 3}).write(std::span(bytes).last(1));
  return bytes;
}

TEST(CountedRanks, StandBehindAParcel) {
  for (const std::size_t payload_bytes : {0u, 1u, 100u}) {
    const std::vector<std::byte> bytes = counted_parcel(payload_bytes);
    CountedRanks ranks(4);
    auto parcel = open_counted_parcel(bytes, 1, ranks);
    ASSERT_TRUE(parcel.has_value()) << payload_bytes;
    EXPECT_EQ(parcel->weight(), 2.0F);
    EXPECT_EQ(parcel->next().size(), payload_bytes);
    EXPECT_EQ(ranks, counted(4, {1, 3}));
  }
}

TEST(CountedRanks, AParcelWithoutThemIsRefused) {
  const std::vector<std::byte> bytes = counted_parcel(5);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CountedRanks ranks(4);
    const auto parcel = open_counted_parcel(std::span(bytes).first(length), 1, ranks);
    ASSERT_FALSE(parcel.has_value()) << length;
    EXPECT_LE(parcel.error().byte_offset, length);
  }
  std::vector<std::byte> nobody = bytes;
  nobody.back() = std::byte{0};
  CountedRanks ranks(4);
  const auto parcel = open_counted_parcel(nobody, 1, ranks);
  ASSERT_FALSE(parcel.has_value());
  EXPECT_EQ(parcel.error().byte_offset, bytes.size() - 1);
}

}  // namespace
}  // namespace gradwire
