// Notes of methods as records hold them: JSON objects whose fields their kinds describe. Pure
// functions.
#pragma once

#include <optional>
#include <span>

#include "gradwire/method/note.h"
#include "gradwire/method/note_totals.h"
#include "record/json_fwd.h"

namespace gradwire::record {

Json to_json(const Note& note);

// Throws Error that names a missing field, or one of another type.
Note note_from(const NoteKind& kind, const Json& json);

// The note in the record of a step, if there is one of these kinds. Throws as note_from does.
std::optional<Note> note_in(const Json& step, std::span<const NoteKind* const> kinds);

// Most totals are numbers. The total of a text or of a table is an object with a number for each
// value or row. The mean of no notes is null.
Json to_json(const NoteTotals& totals);

}  // namespace gradwire::record
