// For kernel tests: runs a check on every target that this machine has, over lengths, alignments
// and inputs that kernels find hard, and compares floats bit by bit.
#pragma once

#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "gradwire/core/random.h"
#include "gradwire/kernel/block.h"

namespace gradwire::kernel {

inline void for_each_target(const std::function<void(const std::string&)>& check) {
  for (std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS; targets != 0;
       targets &= targets - 1) {
    const std::int64_t target = targets & -targets;
    hwy::SetSupportedTargetsForTest(target);
    check(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(0);
  }
}

inline const std::vector<std::size_t>& hard_lengths() {
  static const std::vector<std::size_t> lengths = {
      0,  1,  2,  3,  5,   7,   8,   9,   15,  16,  17,  31,   32,   33,   47,   63,
      64, 65, 96, 97, 127, 128, 129, 255, 300, 511, 512, 1023, 2047, 5000, 8191, 8192};
  return lengths;
}

enum class Input { gaussian, wide, hostile };

// The values and three floats of room in front, so that they can lie at any alignment.
struct TestValues {
  std::vector<float> memory;
  std::span<const float> values;
};

inline TestValues test_values(Input input, std::size_t n, std::size_t shift, std::uint64_t seed) {
  TestValues test{.memory = std::vector<float>(n + shift), .values = {}};
  const RandomStream random = Rng{.seed = seed, .purpose = Purpose::data}.stream(0, 0);
  const float specials[] = {0.0f,
                            -0.0f,
                            1.0f,
                            -1.0f,
                            std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::max(),
                            -std::numeric_limits<float>::max(),
                            std::numeric_limits<float>::min(),
                            std::numeric_limits<float>::denorm_min(),
                            -1e-40f,
                            0x1p127f,
                            0x1.8p-126f};
  for (std::uint32_t j = 0; j < test.memory.size(); ++j) {
    const std::uint32_t bits = random.at(2 * j);
    const double u1 = (random.at(2 * j + 1) + 1.0) / 4294967296.0;
    const double normal =
        std::sqrt(-2 * std::log(u1)) * std::cos(6.283185307179586 * bits / 0x1p32);
    float value = static_cast<float>(normal);
    if (input == Input::wide) value = std::bit_cast<float>(bits & 0xbfffffffu);  // finite, any size
    if (input == Input::hostile && bits % 5 == 0)
      value = specials[(bits >> 8) % std::size(specials)];
    test.memory[j] = value;
  }
  test.values = std::span<const float>(test.memory).subspan(shift);
  return test;
}

// Calls check(values, stream, trace) for everything hard, on every target.
inline void for_hard_inputs(
    const std::function<void(std::span<const float>, RandomStream)>& check) {
  for_each_target([&](const std::string& target) {
    for (const std::size_t n : hard_lengths()) {
      for (const Input input : {Input::gaussian, Input::wide, Input::hostile}) {
        const std::size_t shift = n % 4;
        SCOPED_TRACE(target + ", " + std::to_string(n) + " elements, input " +
                     std::to_string(static_cast<int>(input)));
        const TestValues test = test_values(input, n, shift, n);
        check(test.values, Rng{.seed = n}.stream(1, 77));
      }
    }
  });
}

inline bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

inline void expect_same(std::span<const float> actual, std::span<const float> expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t j = 0; j < actual.size(); ++j) {
    ASSERT_TRUE(same_bits(actual[j], expected[j]))
        << "element " << j << ": " << actual[j] << " and " << expected[j];
  }
}

template <class Symbol>
void expect_same_symbols(const Symbol* actual, const Symbol* expected, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) ASSERT_EQ(actual[j], expected[j]) << "symbol " << j;
}

// Bits of the first n elements; what lies behind them in the last byte does not count.
inline void expect_same_signs(const std::uint8_t* actual, const std::uint8_t* expected,
                              std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) {
    ASSERT_EQ(actual[j / 8] >> (j % 8) & 1, expected[j / 8] >> (j % 8) & 1) << "sign " << j;
  }
}

struct SymbolMemory {
  alignas(64) std::uint8_t memory[kSymbolRoom] = {};
  SymbolBlock block() { return SymbolBlock(memory); }
  ConstSymbolBlock view() const { return ConstSymbolBlock(memory); }
};

}  // namespace gradwire::kernel
