#include "reproduce/claim.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "console/table.h"
#include "gradwire/core/error.h"

namespace gradwire::reproduce {
namespace {

using record::Json;

constexpr std::array kExtents = {std::pair{Extent::whole, "whole"}, std::pair{Extent::part, "part"},
                                 std::pair{Extent::nothing, "nothing"}};

std::string name_of(Extent extent) {
  return std::ranges::find(kExtents, extent, [](const auto& one) { return one.first; })->second;
}

Extent extent_from(const std::string& name) {
  for (const auto& [extent, its_name] : kExtents) {
    if (name == its_name) return extent;
  }
  throw Error("there is no extent '" + name + "'");
}

Json to_json(const ClaimRow& row) {
  return {{"what", row.what},         {"published", row.published},   {"measured", row.measured},
          {"holds", row.holds},       {"is_timing", row.is_timing},   {"reason", row.reason},
          {"headline", row.headline}, {"extent", name_of(row.extent)}};
}

Json to_json(const ClaimTable& table) {
  return {{"title", table.title}, {"header", table.header}, {"rows", table.rows}};
}

Json to_json(const Picture& picture) {
  Json curves = Json::array();
  for (const Curve& curve : picture.curves) {
    curves.push_back({{"label", curve.label}, {"x", curve.x}, {"y", curve.y}});
  }
  Json document = {{"name", picture.name},
                   {"title", picture.title},
                   {"x_label", picture.x_label},
                   {"y_label", picture.y_label},
                   {"log_x", picture.log_x},
                   {"log_y", picture.log_y},
                   {"curves", curves}};
  if (!picture.x_names.empty()) document["x_names"] = picture.x_names;
  return document;
}

template <class T>
Json list_of(const std::vector<T>& items) {
  Json list = Json::array();
  for (const T& item : items) list.push_back(to_json(item));
  return list;
}

ClaimRow row_from(const Json& document) {
  return {.what = document.at("what"),
          .published = document.at("published"),
          .measured = document.at("measured"),
          .holds = document.at("holds"),
          .is_timing = document.at("is_timing"),
          .reason = document.at("reason"),
          .headline = document.value("headline", ""),
          .extent = extent_from(document.value("extent", "whole"))};
}

// A value that was not finite was written as null, and no curve goes through it.
Curve curve_from(const Json& document) {
  Curve curve{.label = document.at("label"), .x = {}, .y = {}};
  const Json& x = document.at("x");
  const Json& y = document.at("y");
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (x[i].is_null() || y[i].is_null()) continue;
    curve.x.push_back(x[i]);
    curve.y.push_back(y[i]);
  }
  return curve;
}

Picture picture_from(const Json& document) {
  Picture picture{.name = document.at("name"),
                  .title = document.at("title"),
                  .x_label = document.at("x_label"),
                  .y_label = document.at("y_label"),
                  .log_x = document.at("log_x"),
                  .log_y = document.at("log_y"),
                  .curves = {}};
  for (const Json& curve : document.at("curves")) picture.curves.push_back(curve_from(curve));
  if (document.contains("x_names")) picture.x_names = document.at("x_names");
  return picture;
}

// Words on lines of at most so many columns; a longer word has a line of its own.
std::vector<std::string> wrapped(const std::string& text, std::size_t columns) {
  std::vector<std::string> lines(1);
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    std::string& line = lines.back();
    if (line.empty()) {
      line = word;
    } else if (line.size() + 1 + word.size() <= columns) {
      line += ' ' + word;
    } else {
      lines.push_back(word);
    }
    begin = end + 1;
  }
  return lines;
}

// A row whose cells are too wide for a line takes several.
void add_wrapped(console::Table& table, const std::vector<std::string>& cells,
                 std::size_t columns) {
  std::vector<std::vector<std::string>> lines;
  std::size_t height = 0;
  for (const std::string& cell : cells) {
    lines.push_back(wrapped(cell, columns));
    height = std::max(height, lines.back().size());
  }
  for (std::size_t i = 0; i < height; ++i) {
    std::vector<std::string> line;
    for (const auto& cell : lines) line.push_back(i < cell.size() ? cell[i] : "");
    table.add_row(std::move(line));
  }
}

std::string rows_text(const Claim& claim) {
  constexpr std::size_t kCellColumns = 34;
  console::Table table({{"what", console::Table::Align::left},
                        {"published", console::Table::Align::left},
                        {"measured", console::Table::Align::left},
                        {"", console::Table::Align::left}});
  for (const ClaimRow& row : claim.rows) {
    add_wrapped(table, {row.what, row.published, row.measured, verdict_of(row)}, kCellColumns);
  }
  return table.text();
}

std::string remarks_text(const Claim& claim) {
  std::string text;
  for (const ClaimRow& row : claim.rows) {
    if (row.reason.empty()) continue;
    const std::string remark = fmt::format(
        "{}{}: {}", row.what, fails(row) ? " does not hold, probably because" : "", row.reason);
    for (const std::string& line : wrapped(remark, 98)) text += line + '\n';
  }
  return text.empty() ? text : '\n' + text;
}

std::string table_text(const ClaimTable& table) {
  std::vector<console::Table::Column> columns;
  for (const std::string& heading : table.header) {
    columns.push_back(
        {heading, columns.empty() ? console::Table::Align::left : console::Table::Align::right});
  }
  console::Table text(std::move(columns));
  for (const auto& row : table.rows) text.add_row(row);
  return fmt::format("\n{}\n\n{}", table.title, text.text());
}

}  // namespace

std::string verdict_of(const ClaimRow& row) {
  if (row.extent == Extent::part) return "partial";
  if (row.extent == Extent::nothing) return "not measured";
  return row.holds ? "holds" : "does not hold";
}

bool fails(const ClaimRow& row) { return row.extent == Extent::whole && !row.holds; }

Json to_json(const Claim& claim) {
  return {{"claim", claim.name},
          {"title", claim.title},
          {"setting", claim.setting},
          {"missing", claim.missing},
          {"rows", list_of(claim.rows)},
          {"tables", list_of(claim.tables)},
          {"pictures", list_of(claim.pictures)}};
}

Claim claim_from(const Json& document) {
  Claim claim{.name = document.at("claim"),
              .title = document.at("title"),
              .rows = {},
              .tables = {},
              .pictures = {},
              .setting = document.at("setting"),
              .missing = document.value("missing", "")};
  for (const Json& row : document.at("rows")) claim.rows.push_back(row_from(row));
  for (const Json& table : document.at("tables")) {
    claim.tables.push_back(
        {.title = table.at("title"), .header = table.at("header"), .rows = table.at("rows")});
  }
  for (const Json& picture : document.at("pictures")) {
    claim.pictures.push_back(picture_from(picture));
  }
  return claim;
}

std::string claim_text(const Claim& claim) {
  std::string text = fmt::format("{}: {}\n", claim.name, claim.title);
  for (const std::string& line : wrapped(claim.setting, 98)) text += line + '\n';
  if (!claim.missing.empty()) text += fmt::format("Partial: {} are missing.\n", claim.missing);
  text += '\n' + rows_text(claim) + remarks_text(claim);
  for (const ClaimTable& table : claim.tables) text += table_text(table);
  return text;
}

}  // namespace gradwire::reproduce
