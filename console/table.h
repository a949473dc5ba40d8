// A table of text with aligned columns, for people. Value type; cells are ASCII.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gradwire::console {

class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string heading;  // lines are separated by '\n'
    Align align = Align::right;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as there are columns.
  void add_row(std::vector<std::string> cells);

  // Headings, a rule, rows; every line ends with '\n' and none with a space. A table that is wider
  // than `columns_max` becomes several, one below the other, each with the first column.
  std::string text(std::size_t columns_max = kAnyWidth) const;

  static constexpr std::size_t kAnyWidth = static_cast<std::size_t>(-1);

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace gradwire::console
