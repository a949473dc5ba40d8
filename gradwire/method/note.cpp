#include "gradwire/method/note.h"

#include <algorithm>

#include "gradwire/core/error.h"

namespace gradwire {
namespace {

std::size_t find(const std::vector<NoteField>& fields, std::string_view name) {
  const auto found = std::ranges::find(fields, name, &NoteField::name);
  if (found == fields.end()) {
    throw Error("the kind of this note has no field or column '" + std::string(name) + "'");
  }
  return static_cast<std::size_t>(found - fields.begin());
}

}  // namespace

std::size_t NoteKind::index_of(std::string_view field) const { return find(fields, field); }

std::size_t NoteKind::column_of(std::string_view column) const {
  return find(table.columns, column);
}

void Note::set(std::string_view field, NoteValue value) {
  values[kind->index_of(field)] = std::move(value);
}

const NoteValue& Note::cell(std::size_t row, std::string_view column) const {
  return rows[row][kind->column_of(column)];
}

std::optional<double> number_of(const NoteValue& value) {
  if (const auto* count = std::get_if<std::uint64_t>(&value)) return static_cast<double>(*count);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::nullopt;
}

std::string text_of(const NoteValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : "";
}

}  // namespace gradwire
