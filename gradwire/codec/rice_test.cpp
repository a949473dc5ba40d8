#include "gradwire/codec/rice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "gradwire/core/random.h"

namespace gradwire {
namespace {

std::vector<std::uint32_t> random_indices(std::size_t count, std::size_t range) {
  const RandomStream random = Rng{.seed = count}.stream(0, 0);
  std::vector<std::uint32_t> all(range);
  std::iota(all.begin(), all.end(), 0);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::swap(all[i], all[i + (std::uint64_t{random.at(i)} * (range - i) >> 32)]);
  }
  all.resize(count);
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<std::byte> encode(const std::vector<std::uint32_t>& indices, std::uint32_t first,
                              std::size_t range) {
  std::vector<std::byte> bytes(rice_bytes_max(indices.size(), range));
  bytes.resize(rice_encode(indices, first, range, bytes));
  return bytes;
}

TEST(Rice, IndicesComeBack) {
  for (const std::size_t range : {1ul, 2ul, 100ul, 70000ul}) {
    for (const std::size_t count : {0ul, 1ul, range / 100, range / 3, range}) {
      const auto indices = random_indices(std::min(count, range), range);
      const auto bytes = encode(indices, 0, range);
      std::vector<std::uint32_t> back(indices.size());
      const auto used = rice_decode(bytes, range, back);
      ASSERT_TRUE(used) << used.error().what;
      EXPECT_EQ(*used, bytes.size());
      EXPECT_EQ(back, indices);
    }
  }
}

TEST(Rice, ExtremeGapsFitTheBound) {
  for (const std::vector<std::uint32_t>& indices : {std::vector<std::uint32_t>{0xfffffffe},
                                                    {0, 0xfffffffe},
                                                    {0xfffffffd, 0xfffffffe},
                                                    {0, 1, 2, 3, 4, 5, 6, 0x80000000}}) {
    const auto bytes = encode(indices, 0, 0xffffffff);
    std::vector<std::uint32_t> back(indices.size());
    ASSERT_TRUE(rice_decode(bytes, 0xffffffff, back));
    EXPECT_EQ(back, indices);
  }
}

TEST(Rice, BoundForManyHoldsForFewer) {
  for (std::size_t count = 0; count <= 1000; ++count) {
    EXPECT_LE(rice_bytes_max(count, 5000), rice_bytes_max(1000, 5000)) << count;
    EXPECT_LE(encode(random_indices(count, 5000), 0, 5000).size(), rice_bytes_max(count, 5000));
  }
}

TEST(Rice, OnePercentTakesLessThanEightPointTwoBits) {
  const auto indices = random_indices(10000, 1000000);
  EXPECT_LT(static_cast<double>(encode(indices, 0, 1000000).size()) * 8 / 10000, 8.2);
}

TEST(Rice, DamagedBytesNeverGiveAnIndexOutOfRange) {
  const auto bytes = encode(random_indices(50, 5000), 0, 5000);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      auto damaged = bytes;
      damaged[at] ^= std::byte{1} << bit;
      std::vector<std::uint32_t> back(50);
      if (!rice_decode(damaged, 5000, back)) continue;
      for (std::size_t i = 0; i < back.size(); ++i) {
        ASSERT_LT(back[i], 5000u);
        if (i > 0) {
          ASSERT_GT(back[i], back[i - 1]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace gradwire
