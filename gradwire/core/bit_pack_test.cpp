#include "gradwire/core/bit_pack.h"

#include <vector>

#include "gtest/gtest.h"

namespace gradwire {
namespace {

TEST(BitPack, NumbersComeBack) {
  const std::vector<std::vector<std::uint8_t>> patterns = {
      {1}, {2}, {8}, {24}, {3, 0, 5}, {0}, {4, 3, 2, 2, 1, 0, 0}, {7, 11, 24, 1}};
  for (const auto& widths : patterns) {
    for (const std::size_t count : {0, 1, 2, 7, 8, 9, 100, 1001}) {
      std::vector<std::uint32_t> numbers(count);
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t mask = (1U << widths[i % widths.size()]) - 1;
        numbers[i] = static_cast<std::uint32_t>(i * 2654435761U) & mask;
      }
      std::vector<std::byte> bytes(packed_number_bytes(count, widths));
      pack_numbers(numbers, widths, bytes);
      std::vector<std::uint32_t> back(count, 99);
      unpack_numbers(bytes, widths, back);
      EXPECT_EQ(back, numbers);
    }
  }
}

TEST(BitPack, TakesNoMoreThanItMust) {
  const std::vector<std::uint8_t> widths = {3, 0, 5};
  EXPECT_EQ(packed_number_bytes(0, widths), 0u);
  EXPECT_EQ(packed_number_bytes(1, widths), 1u);
  EXPECT_EQ(packed_number_bytes(3, widths), 1u);
  EXPECT_EQ(packed_number_bytes(4, widths), 2u);
  EXPECT_EQ(packed_number_bytes(300, widths), 100u);
}

}  // namespace
}  // namespace gradwire
