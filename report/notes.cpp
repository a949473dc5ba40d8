#include "report/notes.h"

#include <algorithm>
#include <vector>

#include "report/json_values.h"
#include "report/note_map.h"
#include "report/note_stack.h"
#include "report/note_steps.h"
#include "report/note_table.h"

namespace gradwire::report {
namespace {

// In the order in which they first come.
std::vector<const NoteKind*> kinds_in(std::span<const Run> runs) {
  std::vector<const NoteKind*> kinds;
  const auto add = [&](const NoteKind* kind) {
    if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
  };
  for (const Run& run : runs) {
    for (const KeptNotes& notes : run.notes) add(&notes.counts.kind());
    for (const record::StepRecord& step : run.steps) {
      if (step.note) add(step.note->kind);
    }
  }
  return kinds;
}

// The name of a view, the texts that it shows, and how it draws a run.
struct View {
  const NoteKind& kind;

  Json texts(const NoteTableView&) const { return {{"view", "table"}}; }
  Json texts(const NoteMapView& view) const {
    return {{"view", "map"},    {"row", kind.table.row}, {"unit", view.unit},
            {"per", view.per},  {"weight", view.weight}, {"overall", view.overall},
            {"note", view.note}};
  }
  Json texts(const NoteStackView& view) const {
    return {{"view", "stack"},
            {"unit", kind.table.columns[1].unit},
            {"stack_title", view.stack_title},
            {"tall", view.tall},
            {"line_title", view.line_title},
            {"line_name", view.line_name}};
  }

  Json draw(const NoteTableView&, const ShownNotes& notes) const { return table_of(notes); }
  Json draw(const NoteMapView& view, const ShownNotes& notes) const { return map_of(view, notes); }
  Json draw(const NoteStackView& view, const ShownNotes& notes) const {
    return stack_of(view, notes);
  }
};

Json section_of(const NoteKind& kind, std::span<const Run> runs) {
  const View view{kind};
  Json section = {{"name", kind.step_name}, {"title", kind.view.title}, {"hint", kind.view.hint}};
  section.update(std::visit([&](const auto& each) { return view.texts(each); }, kind.view.kind));
  Json entries = Json::array();
  for (const Run& run : runs) {
    const ShownNotes notes = notes_of_kind(kind, run);
    entries.push_back(
        std::visit([&](const auto& each) { return view.draw(each, notes); }, kind.view.kind));
  }
  section["runs"] = std::move(entries);
  return section;
}

}  // namespace

Json notes_of(std::span<const Run> runs) {
  Json sections = Json::array();
  for (const NoteKind* kind : kinds_in(runs)) sections.push_back(section_of(*kind, runs));
  return sections;
}

}  // namespace gradwire::report
