// Probabilities of bits as logarithms, and mixtures of them whose weights are learned: logistic
// mixing, as in the PAQ family of compressors. Integers only: the same on every machine. Value
// types and pure functions.
//
// Logarithms are to base 2, in 1/256. Probabilities are those of a one, in 1/65536.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "gradwire/codec/range_coder.h"

namespace gradwire {

inline constexpr std::int32_t kLogOne = 256;
inline constexpr std::int32_t kLogitMax = 12 * kLogOne - 1;

namespace logistic {

// The square root of a number in 1/2^30.
constexpr std::uint64_t root(std::uint64_t number) {
  std::uint64_t low = 0;
  std::uint64_t high = std::uint64_t{1} << 31;
  while (low + 1 < high) {
    const std::uint64_t middle = (low + high) / 2;
    (middle * middle <= number << 30 ? low : high) = middle;
  }
  return low;
}

// 2^(i / 256), in 1/2^30.
inline constexpr auto kPowers = [] {
  std::array<std::uint64_t, 8> roots{};  // 2^(1/2), 2^(1/4), ...
  std::uint64_t number = std::uint64_t{2} << 30;
  for (std::uint64_t& one : roots) one = number = root(number);
  std::array<std::uint64_t, 256> powers{};
  for (std::size_t i = 0; i < powers.size(); ++i) {
    powers[i] = std::uint64_t{1} << 30;
    for (std::size_t bit = 0; bit < 8; ++bit) {
      if ((i >> (7 - bit) & 1) != 0) powers[i] = powers[i] * roots[bit] >> 30;
    }
  }
  return powers;
}();

// The logarithm of 1 + i / 256.
inline constexpr auto kLogs = [] {
  std::array<std::uint8_t, 256> logs{};
  std::size_t log = 0;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    while (log + 1 < kPowers.size() && kPowers[log + 1] <= (256 + i) << 22) ++log;
    logs[i] = static_cast<std::uint8_t>(log);
  }
  return logs;
}();

}  // namespace logistic

// Of a number above 0.
constexpr std::int32_t log_of(std::uint64_t number) {
  const auto width = static_cast<int>(std::bit_width(number));
  const std::uint64_t top = width > 9 ? number >> (width - 9) : number << (9 - width);
  return (width - 1) * kLogOne + logistic::kLogs[top & 255];
}

namespace logistic {

// For each probability in 1/4096, the logarithm of its odds.
inline constexpr auto kLogits = [] {
  std::array<std::int16_t, 4096> logits{};
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const std::int32_t odds = log_of(2 * i + 1) - log_of(8192 - 2 * i - 1);
    logits[i] = static_cast<std::int16_t>(std::clamp(odds, -kLogitMax, kLogitMax));
  }
  return logits;
}();

inline constexpr auto kProbabilities = [] {
  std::array<std::uint16_t, 2 * kLogitMax + 1> probabilities{};
  for (std::int32_t logit = 0; logit <= kLogitMax; ++logit) {
    const std::uint64_t one = std::uint64_t{1} << 30;
    const std::uint64_t odds = kPowers[logit & 255] << (logit >> 8);
    const auto small = static_cast<std::uint32_t>((one << 16) / (one + odds));
    const auto least = std::max<std::uint32_t>(small, 16);
    probabilities[static_cast<std::size_t>(kLogitMax - logit)] = static_cast<std::uint16_t>(least);
    probabilities[static_cast<std::size_t>(kLogitMax + logit)] =
        static_cast<std::uint16_t>(65536 - least);
  }
  return probabilities;
}();

// What a bit counts after so many others, in 1/65536.
inline constexpr auto kShares = [] {
  std::array<std::int32_t, 255> shares{};
  for (std::int32_t i = 0; i < 255; ++i) {
    shares[static_cast<std::size_t>(i)] = 2 * 65536 / (2 * i + 3);
  }
  return shares;
}();

}  // namespace logistic

constexpr std::uint32_t probability_of(std::int32_t logit) {
  const std::int32_t bounded = std::clamp(logit, -kLogitMax, kLogitMax);
  return logistic::kProbabilities[static_cast<std::size_t>(bounded + kLogitMax)];
}

// The probability of a one in a context, from the bits seen there: first their mean, later with a
// weight of 1/256 for each new one.
class SeenBits {
 public:
  std::int32_t logit() const { return logistic::kLogits[one_ >> 20]; }

  void learn(bool bit) {
    const std::uint32_t target = bit ? ~std::uint32_t{0} : 0;
    const std::int64_t miss = std::int64_t{target} - one_;
    one_ = static_cast<std::uint32_t>(one_ + (miss * logistic::kShares[seen_] >> 16));
    seen_ = static_cast<std::uint16_t>(std::min(seen_ + 1, 254));
  }

  std::uint32_t one() const { return one_; }  // in 1/2^32
  std::uint16_t seen() const { return seen_; }
  void load(std::uint32_t one, std::uint16_t seen) {
    one_ = one;
    seen_ = std::min<std::uint16_t>(seen, 254);
  }

 private:
  std::uint32_t one_ = std::uint32_t{1} << 31;
  std::uint16_t seen_ = 0;
};

// A weighted sum of logarithms as the logarithm of the odds of a one.
template <std::size_t kInputs>
class Mixer {
 public:
  using Inputs = std::array<std::int32_t, kInputs>;
  static constexpr std::int32_t kUnit = 1 << 24;  // the weight 1

  explicit Mixer(const std::array<std::int32_t, kInputs>& weights) : weights_(weights) {}

  // In 1/2^24 of a logarithm's unit, so that parts of it can be added up before they are rounded.
  std::int64_t sum(const Inputs& inputs) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < kInputs; ++i) sum += std::int64_t{weights_[i]} * inputs[i];
    return sum;
  }
  static std::int32_t rounded(std::int64_t sum) { return static_cast<std::int32_t>(sum >> 24); }

  void learn(const Inputs& inputs, bool bit) {
    const auto probability = static_cast<std::int32_t>(probability_of(rounded(sum(inputs))));
    const std::int32_t miss = (bit ? 65536 : 0) - probability;
    for (std::size_t i = 0; i < kInputs; ++i) {
      const std::int64_t step = std::int64_t{miss} * inputs[i] / kSlowness;
      weights_[i] = static_cast<std::int32_t>(
          std::clamp<std::int64_t>(weights_[i] + step, -kWeightMax, kWeightMax));
    }
  }

  std::int32_t weight(std::size_t input) const { return weights_[input]; }
  std::span<const std::int32_t> weights() const { return weights_; }
  void load(std::size_t input, std::int32_t weight) {
    weights_[input] = std::clamp(weight, -kWeightMax, kWeightMax);
  }

 private:
  static constexpr std::int64_t kSlowness = 1 << 12;
  static constexpr std::int32_t kWeightMax = 8 * kUnit;

  Inputs weights_;
};

}  // namespace gradwire
