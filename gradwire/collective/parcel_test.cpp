#include "gradwire/collective/parcel.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace gradwire {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::initializer_list<int> numbers) {
  Bytes bytes;
  for (const int number : numbers) bytes.push_back(static_cast<std::byte>(number));
  return bytes;
}

Bytes parcel_of(float weight, const std::vector<Bytes>& payloads) {
  std::size_t bytes_max = parcel_head_bytes(payloads.size());
  for (const Bytes& payload : payloads) bytes_max += payload.size();
  Bytes memory(bytes_max);
  ParcelWriter writer(memory, payloads.size(), weight);
  for (const Bytes& payload : payloads) {
    std::copy(payload.begin(), payload.end(), writer.room().begin());
    writer.add(payload.size());
  }
  const auto bytes = writer.bytes();
  return {bytes.begin(), bytes.end()};
}

// Payloads of different lengths, empty ones among them.
std::vector<Bytes> some_payloads(std::size_t count) {
  std::mt19937 random(static_cast<std::mt19937::result_type>(count));
  std::vector<Bytes> payloads(count);
  for (Bytes& payload : payloads) {
    payload.resize(random() % 40);
    for (std::byte& byte : payload) byte = static_cast<std::byte>(random());
  }
  return payloads;
}

std::string refusal(std::span<const std::byte> bytes, std::size_t pieces) {
  const auto parcel = ParcelReader::open(bytes, pieces);
  return parcel ? "" : parcel.error().what;
}

TEST(Parcel, GivesBackWhatWasWritten) {
  for (const std::size_t count : {0u, 1u, 2u, 7u, 300u}) {
    const std::vector<Bytes> payloads = some_payloads(count);
    const Bytes parcel = parcel_of(0.75F, payloads);
    auto reader = ParcelReader::open(parcel, count);
    ASSERT_TRUE(reader) << reader.error().what;
    EXPECT_EQ(reader->weight(), 0.75F);
    for (const Bytes& payload : payloads) {
      const auto next = reader->next();
      EXPECT_EQ(Bytes(next.begin(), next.end()), payload);
    }
  }
}

// The example of docs/wire_format.md: a segment of two pieces in the codec `none`.
TEST(Parcel, WorkedExampleHasTheseBytes) {
  const Bytes expected = bytes_of({
      0x00, 0x00, 0x00, 0x42,  // weight 32
      0x08, 0x00, 0x00, 0x00,  // bytes of payload 0
      0x04, 0x00, 0x00, 0x00,  // bytes of payload 1
      0x00, 0x00, 0x80, 0x3f,  // payload 0: 1.0
      0x00, 0x00, 0x20, 0xc0,  //            -2.5
      0x00, 0x00, 0x00, 0x3f,  // payload 1: 0.5
  });
  const Bytes first = bytes_of({0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x20, 0xc0});
  const Bytes second = bytes_of({0x00, 0x00, 0x00, 0x3f});
  EXPECT_EQ(parcel_of(32, {first, second}), expected);
  const auto parcel = ParcelReader::open(expected, 2);
  ASSERT_TRUE(parcel);
  EXPECT_EQ(parcel->weight(), 32);
}

TEST(Parcel, EveryTruncationIsRefused) {
  const Bytes parcel = parcel_of(1, some_payloads(5));
  for (std::size_t bytes = 0; bytes < parcel.size(); ++bytes) {
    const auto cut = ParcelReader::open(std::span(parcel).first(bytes), 5);
    ASSERT_FALSE(cut) << bytes;
    EXPECT_LE(cut.error().byte_offset, bytes);
    EXPECT_STREQ(cut.error().what, bytes < parcel_head_bytes(5)
                                       ? "parcel ends inside its head"
                                       : "parcel is shorter than its payloads");
  }
}

TEST(Parcel, BytesBehindTheLastPayloadAreRefused) {
  Bytes parcel = parcel_of(1, some_payloads(3));
  const std::size_t bytes = parcel.size();
  parcel.push_back(std::byte{0});
  const auto longer = ParcelReader::open(parcel, 3);
  ASSERT_FALSE(longer);
  EXPECT_STREQ(longer.error().what, "parcel is longer than its payloads");
  EXPECT_EQ(longer.error().byte_offset, bytes);
}

TEST(Parcel, EveryWrongLengthIsRefused) {
  const Bytes parcel = parcel_of(1, some_payloads(4));
  for (std::size_t piece = 0; piece < 4; ++piece) {
    const std::size_t at = kParcelWeightBytes + piece * kParcelLengthBytes;
    const auto length = load_le<std::uint32_t>(parcel, at);
    for (const std::uint32_t other :
         {length + 1, length - 1, length + 1000, std::numeric_limits<std::uint32_t>::max()}) {
      Bytes wrong = parcel;
      store_le(std::span(wrong), at, other);
      EXPECT_NE(refusal(wrong, 4), "") << piece << ' ' << other;
    }
  }
}

// Lengths whose sum is right modulo 2^32 do not pass for right.
TEST(Parcel, LengthsThatWrapAroundAreRefused) {
  Bytes parcel = parcel_of(1, {Bytes(8), Bytes(8)});
  store_le(std::span(parcel), 4, std::uint32_t{0xfffffff8});
  store_le(std::span(parcel), 8, std::uint32_t{24});
  EXPECT_EQ(refusal(parcel, 2), "parcel is shorter than its payloads");
}

TEST(Parcel, AnotherNumberOfPiecesIsRefused) {
  const Bytes parcel = parcel_of(1, {Bytes(20, std::byte{1}), Bytes(30, std::byte{1})});
  for (const std::size_t pieces : {0u, 1u, 3u, 4u, 1000u}) {
    EXPECT_NE(refusal(parcel, pieces), "") << pieces;
  }
}

TEST(Parcel, WeightThatIsNoneIsRefused) {
  using Limits = std::numeric_limits<float>;
  for (const float weight : {Limits::quiet_NaN(), Limits::signaling_NaN(), Limits::infinity(),
                             -Limits::infinity(), -1.0F, -Limits::denorm_min()}) {
    const auto parcel = ParcelReader::open(parcel_of(weight, {Bytes(3)}), 1);
    ASSERT_FALSE(parcel) << weight;
    EXPECT_STREQ(parcel.error().what, "parcel has an invalid weight");
    EXPECT_EQ(parcel.error().byte_offset, 0u);
  }
  for (const float weight : {0.0F, -0.0F, Limits::denorm_min(), Limits::max()}) {
    EXPECT_EQ(refusal(parcel_of(weight, {Bytes(3)}), 1), "") << weight;
  }
}

TEST(Parcel, TheHeadAloneIsChecked) {
  const Bytes parcel = parcel_of(2.5F, {Bytes(8), Bytes(12)});
  const std::vector<std::size_t> lengths = {8, 12}, others = {8, 16};
  const auto weight = check_parcel_head(parcel, parcel.size(), lengths);
  ASSERT_TRUE(weight);
  EXPECT_EQ(*weight, 2.5F);
  EXPECT_FALSE(check_parcel_head(parcel, parcel.size(), others));
  for (const std::size_t bytes : {std::size_t{0}, parcel.size() - 1, parcel.size() + 1}) {
    EXPECT_FALSE(check_parcel_head(parcel, bytes, lengths)) << bytes;
  }
  const Bytes negative = parcel_of(-1, {Bytes(8), Bytes(12)});
  EXPECT_FALSE(check_parcel_head(negative, negative.size(), lengths));
}

}  // namespace
}  // namespace gradwire
