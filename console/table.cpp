#include "console/table.h"

#include <algorithm>
#include <sstream>
#include <utility>

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

constexpr std::size_t kNoColumn = static_cast<std::size_t>(-1);

// A column of text that is cut into lines, so that the table fits: its width becomes smaller.
std::size_t folded_column(const std::vector<std::size_t>& shown,
                          const std::vector<Table::Column>& columns,
                          std::vector<std::size_t>& widths, std::size_t columns_max) {
  constexpr std::size_t kLeast = 20;
  std::size_t width = kGap * (shown.size() - 1);
  std::size_t widest = kNoColumn;
  for (const std::size_t c : shown) {
    width += widths[c];
    const bool is_text = c != shown.front() && columns[c].align == Table::Align::left;
    if (is_text && (widest == kNoColumn || widths[c] > widths[widest])) widest = c;
  }
  if (width <= columns_max || widest == kNoColumn) return kNoColumn;
  const std::size_t others = width - widths[widest];
  const std::size_t room = columns_max > others ? columns_max - others : 0;
  widths[widest] = std::min(widths[widest], std::max(room, kLeast));
  return widest;
}

// The row as several lines, of which one column has a part of its text each.
std::vector<Row> folded_row(const Row& row, std::size_t column, std::size_t width) {
  std::vector<Row> lines;
  std::istringstream words(row[column]);
  std::string line;
  const auto finish = [&] {
    lines.push_back(lines.empty() ? row : Row(row.size()));
    lines.back()[column] = std::exchange(line, "");
  };
  for (std::string word; words >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > width) finish();
    line += (line.empty() ? "" : " ") + word;
  }
  finish();
  return lines;
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
      const std::string padding(widths[c] - std::min(widths[c], row[c].size()), ' ');
      if (c != shown.front()) line.append(kGap, ' ');
      line += columns_[c].align == Align::left ? row[c] + padding : padding + row[c];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  };
  for (const std::vector<std::size_t>& shown : blocks_of(widths, columns_max)) {
    if (!text.empty()) text += '\n';
    const std::size_t folded = folded_column(shown, columns_, widths, columns_max);
    if (folded != kNoColumn) rule[folded].resize(widths[folded]);
    for (const Row& row : headings) add(row, shown);
    add(rule, shown);
    for (const Row& row : rows_) {
      const std::vector<Row> lines =
          folded == kNoColumn ? std::vector<Row>{row} : folded_row(row, folded, widths[folded]);
      for (const Row& line : lines) add(line, shown);
    }
  }
  return text;
}

}  // namespace gradwire::console
