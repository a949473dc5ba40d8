#include "report/note_map.h"

#include <algorithm>
#include <string>
#include <vector>

#include "report/json_values.h"

namespace gradwire::report {
namespace {

// A note may say that there was nothing to decide.
NoteSteps with_rows(const NoteSteps& steps) {
  NoteSteps some;
  std::ranges::copy_if(steps, std::back_inserter(some),
                       [](const record::StepRecord* step) { return !step->note->rows.empty(); });
  return some;
}

// At most kMapNotesMax, evenly spread, with the first and the last.
NoteSteps shown(const NoteSteps& steps) {
  const std::size_t count = std::min(steps.size(), kMapNotesMax);
  NoteSteps some;
  for (std::size_t i = 0; i < count; ++i) {
    some.push_back(steps[count == 1 ? 0 : i * (steps.size() - 1) / (count - 1)]);
  }
  return some;
}

class Map {
 public:
  Map(const NoteMapView& view, const NoteKind& kind)
      : value_(kind.column_of(view.value)),
        detail_(kind.column_of(view.detail)),
        weight_(kind.column_of(view.weight)) {}

  Json row(const std::vector<NoteValue>& first, const NoteSteps& steps) const {
    Json values = Json::array();
    Json details = Json::array();
    for (const record::StepRecord* step : steps) {
      const auto& rows = step->note->rows;
      const auto found =
          std::ranges::find_if(rows, [&](const auto& row) { return row[0] == first[0]; });
      values.push_back(found == rows.end() ? Json() : rounded(number_of((*found)[value_])));
      details.push_back(found == rows.end() ? "" : text_of((*found)[detail_]));
    }
    return {{"name", text_of(first[0])},
            {"weight", rounded(number_of(first[weight_]))},
            {"values", values},
            {"details", details}};
  }

  Json overall(const Note& note) const {
    double sum = 0;
    double weights = 0;
    for (const std::vector<NoteValue>& row : note.rows) {
      const double weight = number_of(row[weight_]).value_or(0);
      sum += weight * number_of(row[value_]).value_or(0);
      weights += weight;
    }
    return rounded(sum / weights);
  }

 private:
  const std::size_t value_;
  const std::size_t detail_;
  const std::size_t weight_;
};

}  // namespace

Json map_of(const NoteMapView& view, const ShownNotes& notes) {
  const NoteSteps all = with_rows(notes.steps);
  if (all.empty()) return nullptr;
  const NoteSteps some = shown(all);
  const Map map(view, *some.front()->note->kind);
  Json numbers = Json::array();
  Json overall = Json::array();
  for (const record::StepRecord* step : some) {
    numbers.push_back(step->step);
    overall.push_back(map.overall(*step->note));
  }
  Json rows = Json::array();
  for (const auto& row : some.front()->note->rows) rows.push_back(map.row(row, some));
  return {{"notes", notes.counts.notes_with_rows()},
          {"steps", numbers},
          {"overall", overall},
          {"rows", rows}};
}

}  // namespace gradwire::report
