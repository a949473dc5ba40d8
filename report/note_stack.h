// Notes as a stack of their table's rows over the steps. Pure function.
#pragma once

#include <cstddef>

#include "record/json_fwd.h"
#include "report/note_steps.h"

namespace gradwire::report {

// More columns than these do not fit beside each other.
inline constexpr std::size_t kStackColumnsMax = 600;

// {"edges", "band", "line", "heights": [...], "rows": [{"name", "values": [...]}],
// "bands": [{"name", "word", "steps", "bytes_per_step"}], "facts"}
//
// Neighbouring steps make a column: its line and its values, of each row and of all rows together,
// are their means; its band, by its index, is that of most of them. Column i has the steps after
// edge i up to edge i + 1, so that there is one edge more. Steps of two bands share a column only
// where bands change too often for anything else. A line is null where no step has a number. "word"
// is the band's place among the usual values of the field, or null. Null where no step has a note.
Json stack_of(const NoteStackView& view, const ShownNotes& notes);

}  // namespace gradwire::report
