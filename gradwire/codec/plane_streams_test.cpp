#include "gradwire/codec/plane_streams.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "gradwire/codec/test_support.h"
#include "gradwire/kernel/relative.h"

namespace gradwire {
namespace {

using Stream = std::vector<std::uint8_t>;

constexpr Plane kBits{Plane::Kind::bits};
constexpr Plane kExponents{Plane::Kind::exponents};

std::size_t ones(const Stream& bits) {
  std::size_t count = 0;
  for (const std::uint8_t byte : bits) count += static_cast<std::size_t>(std::popcount(byte));
  return count;
}

TEST(PlaneStreams, BitsComeBackWhateverTheirNumber) {
  const RandomStream random = Rng{.seed = 1, .purpose = Purpose::data}.stream(0, 0);
  for (const std::size_t count : {1u, 7u, 8u, 63u, 64u, 65u, 127u, 128u, 1000u, 8192u, 100'001u}) {
    Stream bits((count + 7) / 8);
    for (std::uint32_t i = 0; i < bits.size(); ++i) {
      // Long stretches of mostly one kind.
      const std::uint32_t draw = random.at(i);
      bits[i] = static_cast<std::uint8_t>(i / 100 % 2 == 0 ? draw & draw >> 8 : draw | draw >> 8);
    }
    if (count % 8 != 0) bits.back() &= static_cast<std::uint8_t>((1u << count % 8) - 1);
    Stream stream = bits;
    const std::array streams = {stream.data()};
    EXPECT_EQ(condense(kBits, 0, count, streams), bits.size());
    EXPECT_EQ(condensed_bytes(kBits, 0, count, streams), bits.size());
    restore(kBits, 0, count, streams);
    EXPECT_EQ(stream, bits) << count;
  }
}

TEST(PlaneStreams, BitsOfMostlyOneKindBecomeFew) {
  const std::size_t count = 64 * 100;
  Stream bits(count / 8);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = i < bits.size() / 2 ? 0xfe : 0x10;
  const std::array streams = {bits.data()};
  condense(kBits, 0, count, streams);
  // One in eight, and where the kind changes, two groups that were not expected.
  EXPECT_LE(ones(bits), count / 8 + 2 * 64);
}

TEST(PlaneStreams, GroupsOfZerosAreLeftOut) {
  for (const std::size_t count : {64u, 100u, 256u, 1000u, 8192u}) {
    for (const std::size_t zeros_every : {1u, 2u, 3u, 1000u}) {
      BlockSymbols block{};
      std::size_t left = 0;
      for (std::size_t j = 0; j < count; ++j) {
        const bool is_zero = j / kernel::kGroupElements % zeros_every == 0;
        block.symbols[j] = is_zero ? 0 : static_cast<std::uint8_t>(100 + j % 7);
        left += is_zero ? 0 : 1;
      }
      const Stream exponents(block.symbols, block.symbols + count);
      Stream largest(kernel::group_count(count)), relative(count);
      const std::array streams = {largest.data(), relative.data()};
      split(kExponents, count, block, streams);
      EXPECT_EQ(condense(kExponents, 0, count, streams), largest.size());
      ASSERT_EQ(condense(kExponents, 1, count, streams), left) << count;
      std::fill(relative.begin() + static_cast<std::ptrdiff_t>(left), relative.end(), 0x77);
      ASSERT_EQ(condensed_bytes(kExponents, 1, count, streams), left);
      restore(kExponents, 1, count, streams);
      join(kExponents, count, streams, block);
      EXPECT_EQ(Stream(block.symbols, block.symbols + count), exponents) << count;
    }
  }
}

double bits_per_element(std::span<const float> values) {
  CodecTest test("natural | entropy");
  return static_cast<double>(test.encode(values, Rng{.seed = 1}).size()) * 8 /
         static_cast<double>(values.size());
}

// What a layer with few inputs of one sign gives: whole rows are zero, or mostly of one sign.
TEST(PlaneStreams, GradientsOfLinearLayersTakeFewerBits) {
  constexpr std::size_t kRow = 1024;
  std::vector<float> values = gaussian(kRow * 256, 1);
  const double of_noise = bits_per_element(values);
  for (std::size_t row = 0; row < 256; ++row) {
    const std::span<float> one = std::span(values).subspan(row * kRow, kRow);
    for (std::size_t j = 0; j < kRow; ++j) {
      if (j % 8 != 0) one[j] = std::copysign(one[j], row % 2 == 0 ? 1.f : -1.f);
    }
    if (row % 4 == 3) std::fill(one.begin(), one.end(), 0.f);
  }
  // A quarter is gone; of the signs, one of 16 is not what is expected, which is 0.34 bits each.
  EXPECT_LE(bits_per_element(values), 0.75 * (of_noise - 1 + 0.4));
}

}  // namespace
}  // namespace gradwire
