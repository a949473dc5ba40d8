// A table of text with aligned columns, for people. Value type; cells are ASCII.
#pragma once

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

  // Headings, a rule, rows; every line ends with '\n' and none with a space.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace gradwire::console
