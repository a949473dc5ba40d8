// dgc against its equations, element by element.
#include "gradwire/method/dgc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "gradwire/codec/codec.h"
#include "gradwire/method/workload_test_support.h"

namespace gradwire {
namespace {

constexpr std::size_t kElements = 200;

std::vector<float> gradient_at_step(std::uint64_t step) { return rank_values(step, 0, kElements); }

// The k largest, ties by index.
std::vector<bool> largest(const std::vector<double>& values, std::size_t k) {
  std::vector<std::size_t> order(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(values[a]) > std::abs(values[b]);
  });
  std::vector<bool> is_largest(values.size());
  for (std::size_t i = 0; i < k; ++i) is_largest[order[i]] = true;
  return is_largest;
}

TEST(DgcThreads, FollowsItsEquations) {
  run_communicators(1, [](Communicator& communicator) {
    const auto method = make_method(communicator, {{"w", {kElements}}}, "dgc(5%)", {});
    std::vector<double> velocity(kElements), sum(kElements);
    for (std::uint64_t step = 0; step < 30; ++step) {
      std::vector<float> gradient = gradient_at_step(step);
      for (std::size_t i = 0; i < kElements; ++i) {
        velocity[i] = 0.9 * velocity[i] + double{gradient[i]};
        sum[i] += velocity[i];
      }
      const std::vector<bool> is_sent = largest(sum, kElements / 20);
      const std::vector<std::span<float>> spans = {gradient};
      method->run({.step = step}, spans);
      for (std::size_t i = 0; i < kElements; ++i) {
        ASSERT_NEAR(gradient[i], is_sent[i] ? sum[i] : 0.0, 1e-5) << step << ", " << i;
        if (is_sent[i]) velocity[i] = sum[i] = 0;
      }
    }
  });
}

TEST(Dgc, ShareShrinksDuringTheWarmUp) {
  const DgcOptions options{.share = 0.001, .warmup_steps = 100};
  EXPECT_EQ(dgc_codec_spec(options, 0), "topk(25%)");
  EXPECT_EQ(dgc_codec_spec(options, 24), "topk(25%)");
  EXPECT_EQ(dgc_codec_spec(options, 25), "topk(6.25%)");
  EXPECT_EQ(dgc_codec_spec(options, 99), "topk(0.390625%)");
  EXPECT_EQ(dgc_codec_spec(options, 100), "topk(0.1%)");
  EXPECT_EQ(dgc_codec_spec({.share = 0.1, .warmup_steps = 100, .values = "natural"}, 60),
            "topk(10%) | natural");
}

// With the whole gradient sent, what comes out is the clipped one, plus momentum.
TEST(DgcThreads, ClipsTheWholeGradientOfAWorker) {
  constexpr std::size_t kRanks = 4;
  run_communicators(kRanks, [](Communicator& communicator) {
    const auto method =
        make_method(communicator, {{"a", {3}}, {"b", {1}}}, "dgc(100%, momentum=0, clip=1)", {});
    EXPECT_TRUE(method->traits().needs_whole_gradient);
    EXPECT_TRUE(method->traits().owns_momentum);
    std::vector<float> a = {3, 0, 0}, b = {4};
    const std::vector<std::span<float>> spans = {a, b};
    method->run({}, spans);
    EXPECT_FLOAT_EQ(a[0], 0.3F);  // of norm 5 to 1/sqrt(4)
    EXPECT_FLOAT_EQ(b[0], 0.4F);
  });
}

}  // namespace
}  // namespace gradwire
