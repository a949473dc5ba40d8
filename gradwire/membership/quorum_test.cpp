#include "gradwire/membership/quorum.h"

#include <gtest/gtest.h>

namespace gradwire::membership {
namespace {

RankSet ranks(std::uint64_t bits) {
  RankSet set;
  set.words()[0] = bits;
  return set;
}

TEST(Quorum, IsMoreThanHalfOrHalfWithRankZero) {
  EXPECT_TRUE(is_quorum(3, ranks(0b110), {}));
  EXPECT_FALSE(is_quorum(3, ranks(0b001), {}));
  EXPECT_TRUE(is_quorum(4, ranks(0b0011), {}));
  EXPECT_FALSE(is_quorum(4, ranks(0b1100), {}));
  EXPECT_TRUE(is_quorum(1, ranks(0b1), {}));
}

TEST(Quorum, IsEverybodyWhoseWordIsKnown) {
  EXPECT_TRUE(is_quorum(2, ranks(0b10), ranks(0b01)));
  EXPECT_TRUE(is_quorum(5, ranks(0b10000), ranks(0b01111)));
  EXPECT_FALSE(is_quorum(5, ranks(0b10000), ranks(0b00111)));
  EXPECT_FALSE(is_quorum(2, {}, ranks(0b11)));
}

// Whoever has ended does not answer later, so that a later quorum has a living member of each.
TEST(Quorum, AnyTwoShareAMemberThatBothKnow) {
  for (std::size_t n = 1; n <= 5; ++n) {
    const std::uint64_t all = (std::uint64_t{1} << n) - 1;
    for (std::uint64_t ended = 0; ended <= all; ++ended) {
      for (std::uint64_t a = 0; a <= all; ++a) {
        if (!is_quorum(n, ranks(a), {})) continue;
        for (std::uint64_t b = 0; b <= all; ++b) {
          if ((b & ended) != 0 || !is_quorum(n, ranks(b), ranks(ended))) continue;
          EXPECT_NE(a & (b | ended), 0U) << n << " members";
        }
      }
    }
  }
}

}  // namespace
}  // namespace gradwire::membership
