// IndexHistory: what the earlier messages of a sparse tensor say about the indices of the next one.
// A tensor is a matrix of rows and columns. The history predicts how many indices a row has, from
// its activity so far; and where in the row they are: an element's class is (how many indices the
// row has) x (activity of its column) x (messages since it was sent), and each class has a weight.
// Integers only: ranks that have recorded the same messages predict the same. For one thread at a
// time.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gradwire/codec/range_coder.h"
#include "gradwire/core/expected.h"

namespace gradwire {

// The number of a row's indices as bits: whether there are any; the number's width in unary; the
// bits below its highest one. The first of these has a model of its own, the others are even.
class CountModel {
 public:
  static constexpr std::size_t kWidths = 33;

  // Calls code(bit, model) for each bit of the number; the model of an even bit is null.
  template <class Code>
  void walk(std::uint32_t number, const Code& code) {
    const auto width = static_cast<unsigned>(std::bit_width(number));
    for (unsigned i = 0; i < width; ++i) code(true, &widths_[i]);
    code(false, &widths_[width]);
    for (unsigned i = width; i-- > 1;) {
      code((number >> (i - 1) & 1) != 0, i + 1 == width ? &seconds_[width] : nullptr);
    }
  }
  // The number whose bits are ask(model); at most 2^32 - 1.
  template <class Ask>
  std::uint32_t find(const Ask& ask) const {
    unsigned width = 0;
    while (width < 32 && ask(&widths_[width])) ++width;
    std::uint32_t number = width > 0 ? 1 : 0;
    for (unsigned i = width; i-- > 1;) {
      const AdaptiveBit* const model = i + 1 == width ? &seconds_[width] : nullptr;
      number = number << 1 | (ask(model) ? 1u : 0u);
    }
    return number;
  }

  std::span<AdaptiveBit> widths() { return widths_; }
  std::span<AdaptiveBit> seconds() { return seconds_; }

 private:
  std::array<AdaptiveBit, kWidths> widths_;
  std::array<AdaptiveBit, kWidths> seconds_;
};

class IndexHistory {
 public:
  // Messages have `kept` indices, at least one.
  IndexHistory(std::size_t rows, std::size_t columns, std::size_t kept);

  std::size_t rows() const { return row_activity_.size(); }
  std::size_t columns() const { return column_activity_.size(); }
  std::size_t elements() const { return ages_.size(); }
  std::size_t kept() const { return kept_; }

  // The model of the number of indices in a row.
  const CountModel& count_model(std::size_t row) const { return counts_[row_classes_[row]]; }

  // The weights of a row with `count` indices, as sums: sums[i] is that of the elements before i.
  // There are columns() + 1 of them.
  void add_weights(std::size_t row, std::size_t count, std::span<std::uint32_t> sums) const;

  // A message that all ranks have got. Indices rise.
  void record(std::span<const std::uint32_t> indices);

  // To bytes and back. A load of bytes that save() cannot have given changes nothing.
  std::size_t saved_bytes() const;
  void save(std::vector<std::byte>& out) const;
  Decoded<void> load(std::span<const std::byte> saved);
  std::size_t memory_bytes() const;

 private:
  // Sent indices: those that there were, and those that there would have been if every element of a
  // row were as likely as another.
  struct ClassCount {
    std::uint64_t sent = 0;
    std::uint64_t expected = 0;
  };

  void learn_counts(std::span<const std::uint32_t> indices);
  void learn_weights(std::span<const std::uint32_t> indices);
  void predict();
  std::size_t density_base(std::size_t count) const;

  std::size_t kept_;
  std::uint64_t recorded_ = 0;
  std::vector<std::uint8_t> ages_;           // messages since the element was sent, at most 255
  std::vector<std::uint32_t> row_activity_;  // sent indices, as fixed-point numbers that fade
  std::vector<std::uint32_t> column_activity_;
  std::vector<CountModel> counts_;  // by class of row
  std::vector<ClassCount> classes_;

  // These follow from the others.
  std::vector<std::uint8_t> row_classes_;
  std::vector<std::uint8_t> column_classes_;
  std::vector<std::uint32_t> weights_;  // by class of element
};

}  // namespace gradwire
