#include "gradwire/method/lgc/code_quantiser.h"

#include <numeric>

#include "gradwire/method/lgc/test_support.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

// Numbers of channels that vary by factors of two.
std::vector<float> numbers(std::size_t channels, std::size_t rows) {
  std::vector<float> all(channels * rows);
  fill_random(3, 0, "numbers", all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto channel = static_cast<float>(i % channels);
    all[i] = 10 * channel + std::exp2(-channel) * all[i];
  }
  return all;
}

TEST(CodeQuantiser, ChannelsThatVaryMoreGetMoreBits) {
  CodeQuantiser quantiser(6, 12);
  quantiser.learn(numbers(6, 500));
  const auto widths = quantiser.widths();
  EXPECT_EQ(std::accumulate(widths.begin(), widths.end(), 0), 12);
  for (std::size_t c = 1; c < widths.size(); ++c) EXPECT_LE(widths[c], widths[c - 1]);
  EXPECT_GE(widths.front(), 4);
  EXPECT_EQ(widths.back(), 0);
}

TEST(CodeQuantiser, NumbersComeBackWithinHalfAStep) {
  CodeQuantiser quantiser(4, 24);
  const std::vector<float> code = numbers(4, 300);
  quantiser.learn(code);
  std::vector<std::uint32_t> symbols(code.size());
  quantiser.encode(code, symbols);
  const std::vector<float> back = quantiser.decode(symbols, 1);
  std::size_t far = 0;
  for (std::size_t i = 0; i < code.size(); ++i) {
    EXPECT_LT(symbols[i], 1U << quantiser.widths()[i % 4]);
    if (std::abs(back[i] - code[i]) > 0.501F * quantiser.steps()[i % 4]) ++far;
  }
  EXPECT_EQ(far, 0U);  // even numbers have no tails
}

TEST(CodeQuantiser, SumsOfSymbolsAreMeansOfNumbers) {
  CodeQuantiser quantiser(4, 12);
  quantiser.learn(numbers(4, 300));
  const std::vector<std::uint32_t> a = {1, 2, 0, 1};
  const std::vector<std::uint32_t> b = {3, 0, 1, 0};
  std::vector<std::uint32_t> sums(4);
  for (std::size_t i = 0; i < 4; ++i) sums[i] = a[i] + b[i];
  const auto mean = quantiser.decode(sums, 2);
  const auto of_a = quantiser.decode(a, 1);
  const auto of_b = quantiser.decode(b, 1);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(mean[i], (of_a[i] + of_b[i]) / 2, 1e-5);
}

TEST(CodeQuantiser, WhatIsNotANumberHasASymbol) {
  const CodeQuantiser quantiser(1, 2);
  const std::vector<float> code = {std::nanf(""), INFINITY, -INFINITY, 1e30F};
  std::vector<std::uint32_t> symbols(4);
  quantiser.encode(code, symbols);
  EXPECT_EQ(symbols, (std::vector<std::uint32_t>{0, 3, 0, 3}));
}

}  // namespace
}  // namespace gradwire
