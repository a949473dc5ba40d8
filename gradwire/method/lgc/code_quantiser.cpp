#include "gradwire/method/lgc/code_quantiser.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "gradwire/core/check.h"

namespace gradwire {
namespace {

// The step of the even quantiser of so many bits that is best for Gaussian numbers, in standard
// deviations, and the mean square of its error in variances.
struct Level {
  double step;
  double error;
};
constexpr std::array kLevels = {
    Level{3.464, 1.0},      Level{1.596, 0.3634},    Level{0.9957, 0.1188},
    Level{0.586, 0.03744},  Level{0.3352, 0.01154},  Level{0.1881, 0.003495},
    Level{0.1041, 0.00104}, Level{0.0568, 0.000304}, Level{0.0308, 0.0000869}};
static_assert(kLevels.size() == CodeQuantiser::kBitsMax + 1);

// How much of a mean is new at every step that learns.
constexpr float kNewShare = 0.05F;
constexpr float kSquareLeast = 1e-12F;

}  // namespace

CodeQuantiser::CodeQuantiser(std::size_t channels, std::size_t block_bits)
    : block_bits_(block_bits),
      means_(channels),
      squares_(channels, 1.0F),
      widths_(channels),
      steps_(channels) {
  GW_CHECK(channels >= 1 && block_bits >= 1 && block_bits <= channels * kBitsMax);
  share_bits();
}

// One bit after the other goes where it takes most of the error; the first of equals gets it.
void CodeQuantiser::share_bits() {
  std::ranges::fill(widths_, std::uint8_t{0});
  const auto gain = [&](std::size_t c) {
    if (widths_[c] == kBitsMax) return -1.0;
    return double{squares_[c]} * (kLevels[widths_[c]].error - kLevels[widths_[c] + 1U].error);
  };
  for (std::size_t bit = 0; bit < block_bits_; ++bit) {
    std::size_t best = 0;
    for (std::size_t c = 1; c < widths_.size(); ++c) {
      if (gain(c) > gain(best)) best = c;
    }
    ++widths_[best];
  }
  for (std::size_t c = 0; c < widths_.size(); ++c) {
    steps_[c] = static_cast<float>(kLevels[widths_[c]].step) * std::sqrt(squares_[c]);
  }
}

void CodeQuantiser::encode(std::span<const float> code, std::span<std::uint32_t> symbols) const {
  GW_CHECK(code.size() == symbols.size());
  for (std::size_t i = 0; i < code.size(); ++i) {
    const std::size_t c = i % means_.size();
    const auto levels = static_cast<float>(1U << widths_[c]);
    const float level = (code[i] - means_[c]) / steps_[c] + levels / 2;
    symbols[i] = level >= 0 ? static_cast<std::uint32_t>(std::min(level, levels - 1)) : 0;
  }
}

std::vector<float> CodeQuantiser::decode(std::span<const std::uint32_t> sums,
                                         std::size_t ranks) const {
  std::vector<float> code(sums.size());
  const float share = 1 / static_cast<float>(ranks);
  for (std::size_t i = 0; i < code.size(); ++i) {
    const std::size_t c = i % means_.size();
    const float middle = static_cast<float>(1U << widths_[c]) / 2 - 0.5F;
    code[i] = means_[c] + steps_[c] * (static_cast<float>(sums[i]) * share - middle);
  }
  return code;
}

void CodeQuantiser::learn(std::span<const float> code) {
  const std::size_t channels = means_.size();
  const auto count = static_cast<double>(code.size() / channels);
  if (count == 0) return;
  std::vector<double> sums(channels);
  std::vector<double> squares(channels);
  for (std::size_t i = 0; i < code.size(); ++i) {
    sums[i % channels] += double{code[i]};
    squares[i % channels] += double{code[i]} * double{code[i]};
  }
  const float share = has_learned_ ? kNewShare : 1;
  for (std::size_t c = 0; c < channels; ++c) {
    const double mean = sums[c] / count;
    const auto square = static_cast<float>(squares[c] / count - mean * mean);
    means_[c] += share * (static_cast<float>(mean) - means_[c]);
    squares_[c] += share * (std::max(square, kSquareLeast) - squares_[c]);
  }
  has_learned_ = true;
  share_bits();
}

void CodeQuantiser::save(std::vector<float>& saved) const {
  saved.insert(saved.end(), means_.begin(), means_.end());
  saved.insert(saved.end(), squares_.begin(), squares_.end());
  saved.push_back(has_learned_ ? 1 : 0);
}

void CodeQuantiser::load(std::span<const float>& saved) {
  const std::size_t channels = means_.size();
  GW_CHECK(saved.size() >= 2 * channels + 1);
  std::ranges::copy(saved.first(channels), means_.begin());
  std::ranges::copy(saved.subspan(channels, channels), squares_.begin());
  has_learned_ = saved[2 * channels] != 0;
  saved = saved.subspan(2 * channels + 1);
  share_bits();
}

}  // namespace gradwire
