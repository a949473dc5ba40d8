// CodeQuantiser: rounds the numbers of a code to symbols of a few bits, and decodes them again. It
// tracks the mean and the spread of each channel. A block has a fixed number of bits; channels that
// vary more get more of them, which makes the total error smallest. A value type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gradwire {

class CodeQuantiser {
 public:
  static constexpr unsigned kBitsMax = 8;  // of a channel

  // A block is one number of each channel; `block_bits` are for all of them together.
  CodeQuantiser(std::size_t channels, std::size_t block_bits);

  // By channel.
  std::span<const std::uint8_t> widths() const { return widths_; }
  std::span<const float> steps() const { return steps_; }

  // Rounds to the nearest level. A NaN becomes symbol 0.
  void encode(std::span<const float> code, std::span<std::uint32_t> symbols) const;
  // The mean of the codes of `ranks` ranks, from the sums of their symbols.
  std::vector<float> decode(std::span<const std::uint32_t> sums, std::size_t ranks) const;

  // Updates means and spreads with the numbers of a code.
  void learn(std::span<const float> code);

  // The learned state is numbers() floats: save() appends them, load() removes them from the front.
  std::size_t numbers() const { return 2 * means_.size() + 1; }
  void save(std::vector<float>& saved) const;
  void load(std::span<const float>& saved);

 private:
  void share_bits();

  std::size_t block_bits_;
  std::vector<float> means_;
  std::vector<float> squares_;  // of the spread
  bool has_learned_ = false;
  // These follow from the spreads.
  std::vector<std::uint8_t> widths_;
  std::vector<float> steps_;
};

}  // namespace gradwire
