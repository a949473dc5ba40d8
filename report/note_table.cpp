#include "report/note_table.h"

#include "report/json_values.h"

namespace gradwire::report {
namespace {

Json value_json(const NoteValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return rounded(number_of(value));
}

}  // namespace

Json table_of(const ShownNotes& notes) {
  if (notes.steps.empty()) return nullptr;
  const Note& last = *notes.steps.back()->note;
  Json fields = Json::array();
  for (std::size_t i = 0; i < last.values.size(); ++i) {
    const NoteField& field = last.kind->fields[i];
    if (std::holds_alternative<std::monostate>(last.values[i])) continue;
    fields.push_back(
        {{"name", field.name}, {"unit", field.unit}, {"value", value_json(last.values[i])}});
  }
  Json columns = Json::array();
  for (const NoteField& column : last.kind->table.columns) {
    columns.push_back({{"name", column.name}, {"unit", column.unit}});
  }
  Json rows = Json::array();
  for (const std::vector<NoteValue>& row : last.rows) {
    Json& cells = rows.emplace_back(Json::array());
    for (const NoteValue& value : row) cells.push_back(value_json(value));
  }
  return {{"step", notes.steps.back()->step}, {"notes", notes.counts.notes()},
          {"facts", facts_of(notes.counts)},  {"fields", std::move(fields)},
          {"columns", std::move(columns)},    {"rows", std::move(rows)}};
}

}  // namespace gradwire::report
