#include "train/gradient_recorder.h"

#include "gradwire/core/error.h"
#include "gtest/gtest.h"

namespace gradwire::train {
namespace {

TEST(RecordedSteps, AreAListOrMultiples) {
  EXPECT_EQ(parse_recorded_steps("300,0,50").steps, (std::vector<std::uint64_t>{0, 50, 300}));
  const RecordedSteps every = parse_recorded_steps("every=25");
  EXPECT_TRUE(every.has(0) && every.has(50));
  EXPECT_FALSE(every.has(51));
  EXPECT_TRUE(parse_recorded_steps("7").has(7));
  EXPECT_FALSE(parse_recorded_steps("7").has(0));
  EXPECT_FALSE(RecordedSteps().has(0));
}

TEST(RecordedSteps, AreWholeNumbers) {
  for (const char* text : {"", ",", "1,", "-1", "1.5", "every=", "every=0", "all", "1,every=2",
                           "0, 50", "99999999999999999999"}) {
    EXPECT_THROW(parse_recorded_steps(text), Error) << text;
  }
}

}  // namespace
}  // namespace gradwire::train
