// Steady steps on two levels do not allocate, on the threads of all ranks.
#include <gtest/gtest.h>

#include <barrier>

#include "gradwire/collective/test_support.h"
#include "gradwire/core/allocation_test_support.h"
#include "gradwire/method/method.h"

namespace gradwire {
namespace {

std::size_t allocations_in_steps(const char* spec) {
  constexpr std::size_t kRanks = 4;
  constexpr std::uint64_t kWarmUpSteps = 4, kSteps = 6;
  std::barrier all_are_here(kRanks);
  std::atomic<std::size_t> before = 0, after = 0;
  const CommunicatorOptions options{.run = 7, .codec_threads = 1, .hosts = {.count = 2}};
  run_communicators(kRanks, options, [&](Communicator& communicator) {
    const auto method = make_method(
        communicator, {{"w", {200, 100}}, {"b", {200}}}, spec,
        {.topology = Topology::scatter, .group_elements = 10000, .host_part_bytes_min = 0});
    std::vector<float> weights(20000, 1.0F), biases(200, 1.0F);
    const std::vector<std::span<float>> gradients{weights, biases};
    const auto run = [&](std::uint64_t first, std::uint64_t count) {
      for (std::uint64_t step = first; step < first + count; ++step) {
        method->run({.step = step}, gradients);
      }
    };
    run(0, kWarmUpSteps);
    all_are_here.arrive_and_wait();
    if (communicator.rank() == 0) before = allocations.load();
    all_are_here.arrive_and_wait();
    run(kWarmUpSteps, kSteps);
    all_are_here.arrive_and_wait();
    if (communicator.rank() == 0) after = allocations.load();
    all_are_here.arrive_and_wait();
  });
  return after - before;
}

TEST(HostMethodAllocations, SteadyStepsMakeNone) {
  if (GW_ALLOCATOR_IS_TAKEN) GTEST_SKIP() << "a sanitizer counts allocations by itself";
  for (const char* spec : {"none", "qsgd(bits=4)", "ef(natural)"}) {
    EXPECT_EQ(allocations_in_steps(spec), 0u) << spec;
  }
}

}  // namespace
}  // namespace gradwire
