#include "gradwire/codec/segments.h"

#include <algorithm>
#include <limits>

#include "gtest/gtest.h"

namespace gradwire {
namespace {

using Segments = std::vector<SegmentRange>;

TEST(Segments, CoverTheTensorInOrderAtBucketMultiples) {
  for (const std::size_t elements : {1, 2, 7, 511, 512, 513, 4096, 10'000}) {
    for (const std::size_t bucket_elements : {1, 3, 8, 512, 20'000}) {
      for (const std::size_t segment_elements_max : {0, 1, 9, 1000, 1024, 1'000'000}) {
        const Segments segments = cut_segments({.elements = elements,
                                                .bucket_elements = bucket_elements,
                                                .segment_elements_max = segment_elements_max});
        std::size_t next = 0;
        for (const SegmentRange& segment : segments) {
          ASSERT_EQ(segment.first, next);
          ASSERT_EQ(segment.first % bucket_elements, 0u);
          ASSERT_GE(segment.elements, 1u);
          ASSERT_LE(segment.elements, std::max(segment_elements_max, bucket_elements));
          next += segment.elements;
        }
        ASSERT_EQ(next, elements);
      }
    }
  }
}

TEST(Segments, AreAsLongAsTheBoundAllows) {
  EXPECT_EQ(cut_segments({.elements = 25, .bucket_elements = 4, .segment_elements_max = 11}),
            (Segments{{0, 8}, {8, 8}, {16, 8}, {24, 1}}));
}

TEST(Segments, HaveAtLeastOneBucketHoweverSmallTheBound) {
  EXPECT_EQ(cut_segments({.elements = 9, .bucket_elements = 4, .segment_elements_max = 1}),
            (Segments{{0, 4}, {4, 4}, {8, 1}}));
}

TEST(Segments, OfNoElementsAreNone) {
  EXPECT_EQ(cut_segments({.elements = 0, .bucket_elements = 4, .segment_elements_max = 8}),
            Segments{});
}

TEST(Segments, OfHugeBucketsAndBoundsAreTheWholeTensor) {
  constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(cut_segments({.elements = 5, .bucket_elements = kHuge, .segment_elements_max = 8}),
            (Segments{{0, 5}}));
  EXPECT_EQ(cut_segments({.elements = 5, .bucket_elements = 2, .segment_elements_max = kHuge}),
            (Segments{{0, 5}}));
}

}  // namespace
}  // namespace gradwire
