#include "bench/yardsticks.h"

#include <algorithm>
#include <bit>

#include "bench/gradients.h"
#include "bench/thread_cut.h"
#include "gtest/gtest.h"

namespace gradwire::bench {
namespace {

TEST(Yardsticks, CopyAndReadTouchEveryElementOnceWithAnyNumberOfThreads) {
  for (const std::size_t elements : {1, 15, 16, 1025, 8192, 100'003}) {
    std::vector<float> source(elements);
    fill_gaussian({.seed = 1}, source);
    std::uint32_t sum = 0;
    for (const float value : source) sum += std::bit_cast<std::uint32_t>(value);
    for (const std::size_t threads : {1, 3}) {
      std::vector<float> target(elements);
      ThreadPool pool(threads);
      Yardsticks yardsticks(source, target, pool);
      EXPECT_EQ(yardsticks.read(), sum) << elements;
      yardsticks.copy();
      EXPECT_EQ(target, source);
    }
  }
}

TEST(ThreadCut, OneThreadHasTheWholeTensorAsOneSegment) {
  EXPECT_EQ(cut_for_threads(1000, 512, 1),
            (std::vector<SegmentRange>{{.first = 0, .elements = 1000}}));
}

TEST(ThreadCut, EveryThreadHasOneSegment) {
  EXPECT_EQ(cut_for_threads(1 << 20, 512, 2).size(), 2u);
  EXPECT_EQ(cut_for_threads(1000, 512, 2).size(), 2u);
  for (const SegmentRange& segment : cut_for_threads(1'000'003, 512, 3)) {
    EXPECT_EQ(segment.first % 512, 0u);
  }
}

}  // namespace
}  // namespace gradwire::bench
