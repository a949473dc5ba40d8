// Note: a method's report on a step, beside bytes and seconds. A note describes itself: its kind
// has its name in records, its fields and its table, the totals of a run, and its view on the page.
// Record, report and page know kinds, and no method.
//
// A method defines its kind as a constant that lives as long as the program, and sets it in
// ParsedMethod::note. Value types, for any thread.
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
  // How an empty value is written.
  enum class Empty { never, null, absent };

  std::string name;  // in records; "budget.groups" is the field `groups` of the object `budget`
  Type type = Type::number;
  Empty empty = Empty::never;
  std::string unit = {};                // "bytes", "ms"; none for a ratio or a plain number
  std::vector<std::string> words = {};  // of a text: its usual values, in their order
};

// The rows of a note, beside its fields. A record has them in the field of type `table`.
struct NoteTable {
  std::string row;                 // the subject of a row: "layer"
  std::vector<NoteField> columns;  // the first one is the name of the row
  bool is_mapping = false;  // {name: value} in records, with two columns; else a list of objects
  bool is_mean_over_ranks =
      false;  // of whole numbers; else rows are those of rank 0, as fields are
};

// A total of the notes of a run: one number, or several with names.
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
  std::string label = {};  // on the page; empty: not shown there
};

// In NoteTotal::of: the bytes that a worker sent in the step of the note.
inline constexpr const char* kBytesSent = "bytes_sent of the step";

// Views of notes on the page. Members are names of fields and columns, or texts for people.

// A table with the fields and rows of the last note.
struct NoteTableView {};

// A heat map: a line for each row of the table, a cell for each note. Skips notes without rows.
struct NoteMapView {
  std::string value;    // the column that colours a cell
  std::string unit;     // of it: "bits"
  std::string per;      // "per element"
  std::string detail;   // the column that the tooltip of a cell shows
  std::string weight;   // the column that weights the line of means
  std::string overall;  // the name of that line: "whole model"
  std::string note;     // the name of a note: "plan"
};

// The table's rows as a stack over the steps; a strip above it with the value of a text field; a
// line below it with a number.
struct NoteStackView {
  std::string stack_title;
  std::string band;  // the field of the strip
  std::string tall;  // its value in steps whose bars are cut off, since they would dwarf all others
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

  // Throws Error for an unknown name.
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
