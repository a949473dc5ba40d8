// KernelHistory: what the earlier messages of a sparse convolution say about the indices of the
// next one. A convolution is a matrix of kernels, each of some elements that follow one another:
// rows are output channels, columns input channels. Integers only: ranks that have recorded the
// same messages have the same history. For one thread at a time.
//
// A message is a walk through the tensor, from question to question: does this row have an index,
// this kernel, this element? walk() asks an oracle: an encoder knows the answers and writes them, a
// decoder reads them, and a learner compares them with the model's predictions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gradwire/codec/kernel_model.h"
#include "gradwire/core/expected.h"

namespace gradwire {

struct KernelShape {
  std::size_t rows = 0;
  std::size_t columns = 0;   // kernels of a row
  std::size_t elements = 0;  // of a kernel
  std::size_t width = 0;     // elements of a line of a kernel

  std::size_t all() const { return rows * columns * elements; }
};

class KernelHistory {
 public:
  static constexpr std::size_t kElementsMax = 64;  // of a kernel

  // Messages have `kept` indices, at least one.
  KernelHistory(const KernelShape& shape, std::size_t kept, const KernelModel& model);

  const KernelShape& shape() const { return shape_; }
  std::size_t kept() const { return kept_; }

  // Asks oracle.row(facts, first element), oracle.kernel(kernel, facts, first element) and
  // oracle.element(facts, element), and calls oracle.found(element). The facts about a kernel are
  // only those about this message: known_part() and add_known_facts() have the others. Returns the
  // number of indices found, at most kept(). `column_counts` is scratch memory.
  template <class Oracle>
  std::size_t walk(Oracle& oracle, std::vector<std::uint32_t>& column_counts) const;

  std::int64_t known_part(std::size_t kernel) const { return known_parts_[kernel]; }
  void add_known_facts(std::size_t kernel, KernelFacts& facts) const;

  // A message that all ranks have got; indices rise. First learn() for all layers, then record().
  void learn(std::span<const std::uint32_t> indices, KernelModel& model) const;
  void record(std::span<const std::uint32_t> indices, const KernelModel& model);

  // To bytes and back. A load of bytes that save() cannot have given changes nothing.
  std::size_t saved_bytes() const;
  void save(std::vector<std::byte>& out) const;
  Decoded<void> load(std::span<const std::byte> saved, const KernelModel& model);
  std::size_t memory_bytes() const;

 private:
  void predict(const KernelModel& model);
  // The logarithm of `indices`, plus one, against the expected number of so many elements.
  std::int32_t against_expected(std::uint64_t indices, std::size_t elements) const;

  KernelShape shape_;
  std::size_t kept_;
  std::vector<std::uint8_t> ages_;  // messages since the element was sent, at most 255
  // Sent indices, as fixed-point numbers that fade.
  std::vector<std::uint32_t> kernel_activity_;
  std::vector<std::uint32_t> row_activity_;
  std::vector<std::uint32_t> column_activity_;

  // These follow from the others.
  std::vector<std::int32_t> row_logs_;  // activity against the mean
  std::vector<std::int32_t> column_logs_;
  std::vector<std::int32_t> kernel_logs_;
  std::vector<std::int64_t> known_parts_;          // of kernels, see KernelModel
  std::vector<std::int32_t> expected_in_rows_;     // in the columns before it, plus one
  std::vector<std::int32_t> expected_in_columns_;  // in the rows before it, plus one
};

template <class Oracle>
std::size_t KernelHistory::walk(Oracle& oracle, std::vector<std::uint32_t>& column_counts) const {
  constexpr std::size_t kRowsAskedBelow = 2;  // indices in a row, on average
  const bool asks_rows = kept_ < kRowsAskedBelow * shape_.rows;
  const std::size_t row_elements = shape_.columns * shape_.elements;
  column_counts.assign(shape_.columns, 0);
  std::size_t found = 0;
  for (std::size_t row = 0; row < shape_.rows && found < kept_; ++row) {
    const std::size_t rest = shape_.all() - row * row_elements;
    const std::int32_t left = against_expected(kept_ - found - 1, rest);
    if (asks_rows) {
      const std::int32_t expected =
          log_of((kept_ - found) * 256) - log_of((shape_.rows - row) * 256);
      if (!oracle.row(RowFacts{expected, row_logs_[row]}, row * row_elements)) continue;
    }
    std::uint32_t in_row = 0;
    for (std::size_t column = 0; column < shape_.columns && found < kept_; ++column) {
      const std::size_t kernel = row * shape_.columns + column;
      const std::size_t first = kernel * shape_.elements;
      KernelFacts facts;
      facts.row_now = log_of(in_row + 1) - expected_in_rows_[column];
      facts.column_now = log_of(column_counts[column] + 1) - expected_in_columns_[row];
      facts.left = left;
      if (!oracle.kernel(kernel, facts, first)) continue;
      ElementFacts element{.activity = kernel_logs_[kernel],
                           .row_now = facts.row_now,
                           .column_now = facts.column_now};
      std::uint64_t set = 0;
      for (std::size_t place = 0; place < shape_.elements && found < kept_; ++place) {
        element.age = ages_[first + place];
        element.place = static_cast<std::uint32_t>(place);
        element.behind = static_cast<std::uint32_t>(shape_.elements - 1 - place);
        element.is_after = place % shape_.width != 0 && (set >> (place - 1) & 1) != 0;
        element.is_below = place >= shape_.width && (set >> (place - shape_.width) & 1) != 0;
        // The last one, if there was none before it, needs no question.
        const bool is_sure = element.behind == 0 && element.found == 0;
        if (!is_sure && !oracle.element(element, first + place)) continue;
        oracle.found(first + place);
        set |= std::uint64_t{1} << place;
        ++element.found;
        ++found;
      }
      in_row += element.found;
      column_counts[column] += element.found;
    }
  }
  return found;
}

}  // namespace gradwire
