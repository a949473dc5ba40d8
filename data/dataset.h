// Dataset: rows of few features each, and a label for every row. Value types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gradwire::data {

struct SparseRow {
  std::span<const std::uint32_t> columns;  // rising
  std::span<const double> values;
};

// A matrix by rows; only what is not zero is kept.
struct SparseRows {
  std::size_t features = 0;
  std::vector<std::size_t> starts = {0};  // of the rows, and behind the last one
  std::vector<std::uint32_t> columns;
  std::vector<double> values;

  std::size_t size() const { return starts.size() - 1; }
  SparseRow row(std::size_t index) const;

  // Ends the row whose columns and values were appended.
  void end_row() { starts.push_back(columns.size()); }
};

// The product of a row and a vector of all features.
double dot(const SparseRow& row, std::span<const double> x);
// target += factor * row
void add(const SparseRow& row, double factor, std::span<double> target);

struct Dataset {
  SparseRows rows;
  std::vector<double> labels;  // one a row
};

// Numbers the rows of a dataset from 0 to size() - 1.
std::vector<std::uint32_t> all_rows(const Dataset& data);

// For two classes: the smaller label becomes -1 and the larger one +1, whatever they were. Throws
// Error, with the labels that were seen, where there are not exactly two.
void map_labels_to_signs(Dataset& data);

// Of everything that a dataset holds.
std::uint64_t data_checksum(const Dataset& data);

}  // namespace gradwire::data
