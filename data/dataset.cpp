#include "data/dataset.h"

#include <numeric>
#include <set>
#include <string>

#include "gradwire/codec/spec.h"
#include "gradwire/core/error.h"
#include "gradwire/wire/frame.h"

namespace gradwire::data {
namespace {

std::string label_list(const std::set<double>& labels) {
  constexpr std::size_t kShownMax = 5;
  std::string list;
  std::size_t shown = 0;
  for (const double label : labels) {
    if (shown++ == kShownMax) return list + ", ...";
    list += (list.empty() ? "" : ", ") + format_number(label);
  }
  return list;
}

template <class T>
std::uint64_t checksum_of(const std::vector<T>& values, std::uint64_t seed) {
  return checksum(std::as_bytes(std::span(values)), seed);
}

}  // namespace

SparseRow SparseRows::row(std::size_t index) const {
  const std::size_t first = starts[index];
  const std::size_t count = starts[index + 1] - first;
  return {std::span(columns).subspan(first, count), std::span(values).subspan(first, count)};
}

double dot(const SparseRow& row, std::span<const double> x) {
  double sum = 0;
  for (std::size_t i = 0; i < row.columns.size(); ++i) sum += row.values[i] * x[row.columns[i]];
  return sum;
}

void add(const SparseRow& row, double factor, std::span<double> target) {
  for (std::size_t i = 0; i < row.columns.size(); ++i) {
    target[row.columns[i]] += factor * row.values[i];
  }
}

std::vector<std::uint32_t> all_rows(const Dataset& data) {
  std::vector<std::uint32_t> rows(data.rows.size());
  std::iota(rows.begin(), rows.end(), 0u);
  return rows;
}

void map_labels_to_signs(Dataset& data) {
  const std::set<double> labels(data.labels.begin(), data.labels.end());
  if (labels.size() != 2) {
    throw Error("logistic regression tells two labels apart, and there " +
                (labels.size() == 1 ? std::string("is one: ")
                                    : "are " + std::to_string(labels.size()) + ": ") +
                label_list(labels));
  }
  const double larger = *labels.rbegin();
  for (double& label : data.labels) label = label == larger ? 1 : -1;
}

std::uint64_t data_checksum(const Dataset& data) {
  std::uint64_t sum = data.rows.features;
  sum = checksum_of(data.rows.starts, sum);
  sum = checksum_of(data.rows.columns, sum);
  sum = checksum_of(data.rows.values, sum);
  return checksum_of(data.labels, sum);
}

}  // namespace gradwire::data
