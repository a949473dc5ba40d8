// CodeQuantiser: numbers of a code to symbols of a few bits and back. Every channel has the mean
// and the spread that its numbers have had, and of the bits of a block as many as make the error
// smallest: a channel that varies much gets more than one that hardly does. A value type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gradwire {

class CodeQuantiser {
 public:
  static constexpr unsigned kBitsMax = 8;  // of a channel

  // `block_bits` for one number of every channel together.
  CodeQuantiser(std::size_t channels, std::size_t block_bits);

  // By channel.
  std::span<const std::uint8_t> widths() const { return widths_; }
  std::span<const float> steps() const { return steps_; }

  // The nearest level. What is not a number becomes symbol 0.
  void encode(std::span<const float> code, std::span<std::uint32_t> symbols) const;
  // The mean of codes from the sums of so many ranks' symbols.
  std::vector<float> decode(std::span<const std::uint32_t> sums, std::size_t ranks) const;

  // Numbers as they come: means and spreads follow them.
  void learn(std::span<const float> code);

  // Appends what it has learned, so many numbers; takes as many from the front.
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
