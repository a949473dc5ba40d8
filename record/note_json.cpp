#include "record/note_json.h"

#include <string>
#include <string_view>

#include "gradwire/core/error.h"
#include "record/fields.h"
#include "record/json_file.h"

namespace gradwire::record {
namespace {

using Type = NoteField::Type;
using Empty = NoteField::Empty;

Json to_json(const NoteValue& value) {
  if (std::holds_alternative<std::monostate>(value)) return nullptr;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* count = std::get_if<std::uint64_t>(&value)) return *count;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::get<std::string>(value);
}

bool is_empty(const NoteValue& value) { return std::holds_alternative<std::monostate>(value); }

// The object that holds the field, made if need be, and the field's name in it.
std::pair<Json*, std::string> place_of(const NoteField& field, Json& object) {
  const std::size_t dot = field.name.find('.');
  if (dot == field.name.npos) return {&object, field.name};
  return {&object[field.name.substr(0, dot)], field.name.substr(dot + 1)};
}

void write(const NoteField& field, const NoteValue& value, Json& object) {
  if (field.empty == Empty::absent && is_empty(value)) return;
  const auto [holder, name] = place_of(field, object);
  (*holder)[name] = to_json(value);
}

Json table_json(const Note& note) {
  const NoteTable& table = note.kind->table;
  Json json = table.is_mapping ? Json::object() : Json::array();
  for (const std::vector<NoteValue>& row : note.rows) {
    if (table.is_mapping) {
      json[text_of(row[0])] = to_json(row[1]);
      continue;
    }
    Json object = Json::object();
    for (std::size_t i = 0; i < row.size(); ++i) write(table.columns[i], row[i], object);
    json.push_back(std::move(object));
  }
  return json;
}

[[noreturn]] void fail_type(const std::string& name) {
  throw Error("the field '" + name + "' is of another type");
}

NoteValue read_value(const NoteField& field, const Json& object, const char* name) {
  switch (field.type) {
    case Type::flag:
      return record::field<bool>(object, name);
    case Type::count:
      return record::field<std::uint64_t>(object, name);
    case Type::number:
      return record::field<double>(object, name);
    case Type::text:
      return record::field<std::string>(object, name);
    case Type::table:
      break;
  }
  return {};
}

NoteValue read(const NoteField& field, const Json& object) {
  const std::size_t dot = field.name.find('.');
  if (dot != field.name.npos) {
    NoteField inner = field;
    inner.name = field.name.substr(dot + 1);
    const auto holder = object.find(field.name.substr(0, dot));
    if (holder == object.end() && field.empty == Empty::absent) return {};
    if (holder == object.end()) throw Error("the field '" + field.name + "' is missing");
    return read(inner, *holder);
  }
  const auto found = object.is_object() ? object.find(field.name) : object.end();
  const bool is_there = object.is_object() && found != object.end();
  if (field.empty == Empty::absent && !is_there) return {};
  if (field.empty != Empty::never && is_there && found->is_null()) return {};
  return read_value(field, object, field.name.c_str());
}

std::vector<std::vector<NoteValue>> read_mapping(const NoteTable& table, const std::string& name,
                                                 const Json& json) {
  if (!json.is_object()) fail_type(name);
  std::vector<std::vector<NoteValue>> rows;
  for (const auto& [row, value] : json.items()) {
    if (!value.is_number_unsigned()) {
      throw Error("the " + table.columns[1].name + " of the " + table.row + " '" + row +
                  "' are not a count");
    }
    rows.push_back({row, value.get<std::uint64_t>()});
  }
  return rows;
}

std::vector<std::vector<NoteValue>> read_list(const NoteTable& table, const std::string& name,
                                              const Json& json) {
  if (!json.is_array()) fail_type(name);
  std::vector<std::vector<NoteValue>> rows;
  for (const Json& object : json) {
    std::vector<NoteValue>& row = rows.emplace_back();
    for (const NoteField& column : table.columns) row.push_back(read(column, object));
  }
  return rows;
}

}  // namespace

Json to_json(const Note& note) {
  Json json = Json::object();
  for (std::size_t i = 0; i < note.values.size(); ++i) {
    const NoteField& field = note.kind->fields[i];
    if (field.type == Type::table) {
      json[field.name] = table_json(note);
    } else {
      write(field, note.values[i], json);
    }
  }
  return json;
}

Note note_from(const NoteKind& kind, const Json& json) {
  Note note(kind);
  for (std::size_t i = 0; i < kind.fields.size(); ++i) {
    const NoteField& field = kind.fields[i];
    if (field.type != Type::table) {
      note.values[i] = read(field, json);
      continue;
    }
    const Json rows = record::field<Json>(json, field.name.c_str());
    note.rows = kind.table.is_mapping ? read_mapping(kind.table, field.name, rows)
                                      : read_list(kind.table, field.name, rows);
  }
  return note;
}

std::optional<Note> note_in(const Json& step, std::span<const NoteKind* const> kinds) {
  for (const NoteKind* kind : kinds) {
    const auto found = step.find(kind->step_name);
    if (found != step.end()) return note_from(*kind, *found);
  }
  return std::nullopt;
}

Json to_json(const NoteTotals& totals) {
  Json json = Json::object();
  for (std::size_t i = 0; i < totals.totals().size(); ++i) {
    const NoteTotal& rule = totals.kind().totals[i];
    const NoteTotals::Total& total = totals.totals()[i];
    Json& value = json[rule.name];
    if (totals.is_by_name(i)) {
      value = Json::object();
      for (const NoteTotals::Entry& entry : total.entries) value[entry.name] = entry.count;
    } else if (const std::optional<double> number = totals.number(i)) {
      value = *number;
    }
  }
  return json;
}

}  // namespace gradwire::record
