// Note: what a method reports of a step beside its bytes and seconds. A note describes itself: its
// kind says how it is called in records, which fields and which table it has, how the notes of a
// run add up, and how a page draws them. Record, report and page know kinds only, and no method.
//
// A method owns its kind, a constant that lives as long as the program, and lists it in the
// registry. Value types, for any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace gradwire {

// Empty, a flag, a whole number, a number, or a text.
using NoteValue = std::variant<std::monostate, bool, std::uint64_t, double, std::string>;

struct NoteField {
  enum class Type { flag, count, number, text, table };
  // How an empty value stands in a record.
  enum class Empty { never, null, absent };

  std::string name;  // in records; "budget.groups" is the field `groups` of the object `budget`
  Type type = Type::number;
  Empty empty = Empty::never;
  std::string unit = {};                // "bytes", "ms"; none for a ratio or a plain number
  std::vector<std::string> words = {};  // of a text: its usual values, in their order
};

// The rows that a note has beside its fields. They stand in a record where the field of type
// `table` does.
struct NoteTable {
  std::string row;                 // what a row is about: "layer"
  std::vector<NoteField> columns;  // the first one is the name of the row
  bool is_mapping = false;  // {name: value} in records, with two columns; else a list of objects
  bool is_mean_over_ranks =
      false;  // of whole numbers; else rows are those of rank 0, as fields are
};

// One number, or several with names, that the notes of a run add up to.
struct NoteTotal {
  enum class How {
    sum,    // of a field; of a table, row by row
    mean,   // of a field, over the notes in which it is finite
    count,  // of a text, how often it had each value; of a table, how many notes have rows
  };

  std::string name;  // in records
  How how = How::sum;
  std::string of;                                            // a field, or kBytesSent
  std::vector<std::pair<std::string, NoteValue>> only = {};  // notes whose fields have these values
  std::string unit = {};
  std::string label = {};  // on a page; without one it is not shown there
};

// In NoteTotal::of: the bytes that a worker sent in the note's step.
inline constexpr const char* kBytesSent = "bytes_sent of the step";

// How a page draws notes. Texts are for people; all else are names of fields and columns.

// The fields and the table of the last note, as they are.
struct NoteTableView {};

// A map: a line for each row of the table, a cell for each note. Notes without rows are left out.
struct NoteMapView {
  std::string value;    // the column that colours a cell
  std::string unit;     // of it: "bits"
  std::string per;      // "per element"
  std::string detail;   // the column that says more of a cell
  std::string weight;   // the column that weights the line of means
  std::string overall;  // the name of that line: "whole model"
  std::string note;     // what a note is called: "plan"
};

// The table's rows as a stack over the steps; a strip above it with the value of a text field; a
// line below it with a number.
struct NoteStackView {
  std::string stack_title;
  std::string band;  // the field of the strip
  std::string tall;  // its value in steps that would dwarf all others: they are cut off
  std::string line;  // the field of the line
  std::string line_title;
  std::string line_name;
};

struct NoteView {
  std::string title;
  std::string hint;  // a sentence or two
  std::variant<NoteTableView, NoteMapView, NoteStackView> kind = NoteTableView{};
};

struct Note;
class NoteTotals;

struct NoteKind {
  std::string step_name;  // of the note in the record of its step
  std::string run_name;   // of the notes' list, or of their totals, in the record of the run
  std::vector<NoteField> fields;
  NoteTable table = {};
  bool is_list = false;  // the record of the run has all notes with their steps; else their totals
  std::vector<NoteTotal> totals = {};
  NoteView view = {};

  // A sentence for the log of the run; empty where there is nothing to say.
  std::string (*line)(const Note& note) = nullptr;
  // A sentence at the end of a run that took so many seconds.
  std::string (*summary)(const NoteTotals& totals, double seconds) = nullptr;

  // Our own bug where there is no such field.
  std::size_t index_of(std::string_view field) const;
  std::size_t column_of(std::string_view column) const;
};

struct Note {
  explicit Note(const NoteKind& its_kind) : kind(&its_kind), values(its_kind.fields.size()) {}

  const NoteKind* kind;
  std::vector<NoteValue> values;  // one for each field of the kind; that of a table is empty
  std::vector<std::vector<NoteValue>> rows;  // one value for each column

  void set(std::string_view field, NoteValue value);
  const NoteValue& get(std::string_view field) const { return values[kind->index_of(field)]; }
  const NoteValue& cell(std::size_t row, std::string_view column) const;

  // What the log should have; usually empty.
  std::string line() const { return kind->line != nullptr ? kind->line(*this) : ""; }

  bool operator==(const Note&) const = default;
};

// Nothing for a value that is neither a count nor a number.
std::optional<double> number_of(const NoteValue& value);
// Empty for a value that is no text.
std::string text_of(const NoteValue& value);

}  // namespace gradwire
