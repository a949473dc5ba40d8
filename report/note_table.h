// Notes without a picture of their own: the last one, field by field, with its table. Pure
// function.
#pragma once

#include "record/json_fwd.h"
#include "report/note_steps.h"

namespace gradwire::report {

// {"step", "notes", "facts", "fields": [{"name", "unit", "value"}], "columns": [{"name", "unit"}],
// "rows": [[...]]}; "notes" counts all of the run. Empty fields are left out. Null where there is
// no note.
Json table_of(const ShownNotes& notes);

}  // namespace gradwire::report
