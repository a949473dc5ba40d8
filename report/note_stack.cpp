#include "report/note_stack.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "report/json_values.h"

namespace gradwire::report {
namespace {

using Column = std::span<const record::StepRecord* const>;
// Whether two neighbours may be in one column, by their bands.
using FitTogether = std::function<bool(const std::string&, const std::string&)>;

using Band = NoteCounts::Band;

class Stack {
 public:
  Stack(const NoteStackView& view, const ShownNotes& notes)
      : view_(view),
        counts_(notes.counts),
        kind_(counts_.kind()),
        steps_(notes.steps),
        bands_(counts_.bands()) {
    cut_columns();
  }

  Json to_json() const {
    Json edges = {steps_.front()->step - 1};
    Json band = Json::array();
    Json line = Json::array();
    for (const Column& column : columns_) {
      edges.push_back(column.back()->step);
      band.push_back(main_band(column));
      line.push_back(mean_line(column));
    }
    std::vector<double> heights(columns_.size());
    Json rows = rows_json(heights);
    Json all = Json::array();
    for (const double height : heights) all.push_back(rounded(height));
    return {{"edges", std::move(edges)}, {"band", std::move(band)}, {"line", std::move(line)},
            {"heights", std::move(all)}, {"rows", std::move(rows)}, {"bands", bands_json()},
            {"facts", facts_of(counts_)}};
  }

 private:
  std::string band_of(const record::StepRecord* step) const {
    return text_of(step->note->get(view_.band));
  }

  // At most `width` steps each.
  std::vector<Column> cut(std::size_t width, const FitTogether& fit) const {
    const Column steps(steps_);
    std::vector<Column> columns;
    std::size_t first = 0;
    for (std::size_t i = 1; i <= steps.size(); ++i) {
      const bool goes_on =
          i < steps.size() && i - first < width && fit(band_of(steps[i - 1]), band_of(steps[i]));
      if (goes_on) continue;
      columns.push_back(steps.subspan(first, i - first));
      first = i;
    }
    return columns;
  }

  // Cut where bands change, which may take half of the columns; or at least between tall steps and
  // the rest.
  void cut_columns() {
    const auto same = [](const std::string& a, const std::string& b) { return a == b; };
    const auto same_height = [this](const std::string& a, const std::string& b) {
      return (a == view_.tall) == (b == view_.tall);
    };
    const auto any = [](const std::string&, const std::string&) { return true; };
    constexpr std::size_t kEven = kStackColumnsMax / 2;
    const std::size_t width = (steps_.size() + kEven - 1) / kEven;
    for (const FitTogether& fit : {FitTogether(same), FitTogether(same_height), FitTogether(any)}) {
      columns_ = cut(width, fit);
      if (columns_.size() <= kStackColumnsMax) return;
    }
  }

  // The index of the band that most steps of a column have.
  std::size_t main_band(Column column) const {
    NoteCounts own(kind_);
    for (const record::StepRecord* step : column) own.add(*step);
    const std::string& most = std::ranges::max_element(own.bands(), {}, &Band::steps)->name;
    const auto found = std::ranges::find(bands_, most, &Band::name);
    return static_cast<std::size_t>(found - bands_.begin());
  }

  Json mean_line(Column column) const {
    double sum = 0;
    std::size_t count = 0;
    for (const record::StepRecord* step : column) {
      const std::optional<double> number = number_of(step->note->get(view_.line));
      if (!number || !std::isfinite(*number)) continue;
      sum += *number;
      ++count;
    }
    return count == 0 ? Json() : rounded(sum / static_cast<double>(count));
  }

  static double mean_of(Column column, const NoteValue& name) {
    double sum = 0;
    for (const record::StepRecord* step : column) {
      const auto& rows = step->note->rows;
      const auto found =
          std::ranges::find_if(rows, [&](const auto& row) { return row[0] == name; });
      if (found != rows.end()) sum += number_of((*found)[1]).value_or(0);
    }
    return sum / static_cast<double>(column.size());
  }

  // All rows that there are; adds to the columns' heights.
  Json rows_json(std::vector<double>& heights) const {
    Json rows = Json::array();
    for (const std::vector<NoteValue>& row : steps_.front()->note->rows) {
      Json values = Json::array();
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        const double mean = mean_of(columns_[i], row[0]);
        heights[i] += mean;
        values.push_back(rounded(mean));
      }
      rows.push_back({{"name", text_of(row[0])}, {"values", std::move(values)}});
    }
    return rows;
  }

  Json bands_json() const {
    const std::vector<std::string>& words = kind_.fields[kind_.index_of(view_.band)].words;
    Json json = Json::array();
    for (const Band& band : bands_) {
      const auto word = std::ranges::find(words, band.name);
      json.push_back({{"name", band.name},
                      {"word", word == words.end() ? Json() : Json(word - words.begin())},
                      {"steps", band.steps},
                      {"bytes_per_step", rounded(band.bytes / static_cast<double>(band.steps))}});
    }
    return json;
  }

  const NoteStackView& view_;
  const NoteCounts& counts_;
  const NoteKind& kind_;
  const NoteSteps& steps_;
  const std::vector<Band>& bands_;  // of all steps
  std::vector<Column> columns_;
};

}  // namespace

Json stack_of(const NoteStackView& view, const ShownNotes& notes) {
  if (notes.steps.empty()) return nullptr;
  return Stack(view, notes).to_json();
}

}  // namespace gradwire::report
