// Simulated runs with faults keep the promises of docs/membership.md.
#include <gtest/gtest.h>

#include "tests/simulate/simulation.h"

namespace gradwire::simulate {
namespace {

// Four tests of 500 seeds each, which run side by side.
class Simulate : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Simulate, FiveHundredSeedsKeepThePromises) {
  std::size_t went_on = 0;
  for (std::uint64_t seed = GetParam(); seed < GetParam() + 500; ++seed) {
    const Outcome outcome = simulate(seed);
    went_on += outcome.goes_on;
    EXPECT_FALSE(outcome.violation.has_value())
        << "seed " << seed << ": " << *outcome.violation << "; replay: build/simulate --first "
        << seed << " --trace";
  }
  EXPECT_GT(went_on, 100U) << "too many runs end early: they check little";
}

INSTANTIATE_TEST_SUITE_P(Seeds, Simulate, testing::Values(1, 501, 1001, 1501));

TEST(Simulation, IsAFunctionOfTheSeed) {
  std::string first, second;
  simulate(7, [&](const std::string& line) { first += line + "\n"; });
  simulate(7, [&](const std::string& line) { second += line + "\n"; });
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(first, second);
}

}  // namespace
}  // namespace gradwire::simulate
