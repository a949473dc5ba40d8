// Notes as a map: a line for each row of their table, a cell for each note. Pure function.
#pragma once

#include <cstddef>

#include "record/json_fwd.h"
#include "report/note_steps.h"

namespace gradwire::report {

// More do not fit beside each other.
inline constexpr std::size_t kMapNotesMax = 60;

// {"notes", "steps": [...], "overall": [...], "rows": [{"name", "weight", "values": [...],
// "details": [...]}]}, with one value for each of the steps that are shown; "notes" counts those
// that there were. "overall" is the mean over the rows by their weights. Null where no note has a
// row. What is missing in a note is null.
Json map_of(const NoteMapView& view, const ShownNotes& notes);

}  // namespace gradwire::report
