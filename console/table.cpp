#include "console/table.h"

#include <algorithm>
#include <sstream>

#include "gradwire/core/check.h"

namespace gradwire::console {
namespace {

constexpr std::size_t kGap = 2;  // spaces between columns

using Row = std::vector<std::string>;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Headings as rows of cells. They stand on the rule, so short ones get empty cells above.
std::vector<Row> heading_rows(const std::vector<Table::Column>& columns) {
  std::vector<std::vector<std::string>> headings;
  std::size_t height = 0;
  for (const Table::Column& column : columns) {
    headings.push_back(lines_of(column.heading));
    height = std::max(height, headings.back().size());
  }
  std::vector<Row> rows(height, Row(columns.size()));
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const std::size_t above = height - headings[c].size();
    for (std::size_t r = 0; r < headings[c].size(); ++r) rows[above + r][c] = headings[c][r];
  }
  return rows;
}

// The columns of each part of a table that is cut to `columns_max`.
std::vector<std::vector<std::size_t>> blocks_of(const std::vector<std::size_t>& widths,
                                                std::size_t columns_max) {
  std::vector<std::vector<std::size_t>> blocks = {{0}};
  std::size_t width = widths.front();
  for (std::size_t c = 1; c < widths.size(); ++c) {
    if (width + kGap + widths[c] > columns_max && blocks.back().size() > 1) {
      blocks.push_back({0});
      width = widths.front();
    }
    blocks.back().push_back(c);
    width += kGap + widths[c];
  }
  return blocks;
}

}  // namespace

void Table::add_row(std::vector<std::string> cells) {
  GW_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text(std::size_t columns_max) const {
  const std::vector<Row> headings = heading_rows(columns_);
  std::vector<std::size_t> widths(columns_.size());
  for (const auto* rows : {&headings, &rows_}) {
    for (const Row& row : *rows) {
      for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
    }
  }
  Row rule;
  for (const std::size_t width : widths) rule.emplace_back(width, '-');

  std::string text;
  const auto add = [&](const Row& row, const std::vector<std::size_t>& shown) {
    std::string line;
    for (const std::size_t c : shown) {
      const std::string padding(widths[c] - row[c].size(), ' ');
      if (c != shown.front()) line.append(kGap, ' ');
      line += columns_[c].align == Align::left ? row[c] + padding : padding + row[c];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  };
  for (const std::vector<std::size_t>& shown : blocks_of(widths, columns_max)) {
    if (!text.empty()) text += '\n';
    for (const Row& row : headings) add(row, shown);
    add(rule, shown);
    for (const Row& row : rows_) add(row, shown);
  }
  return text;
}

}  // namespace gradwire::console
