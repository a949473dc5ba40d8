// What methods noted in the steps of runs, as a page shows it. Kinds of notes describe themselves:
// nothing here knows a method. Pure function.
#pragma once

#include <span>

#include "record/json_fwd.h"
#include "report/page.h"

namespace gradwire::report {

// [{"name", "title", "hint", "view", ..., "runs": [...]}], an entry for each kind that some run
// has. "view" is "map", "stack" or "table", and stands beside the texts that it needs; "runs" has
// an entry for each run, as note_map.h, note_stack.h and note_table.h have them, or null.
record::Json notes_of(std::span<const Run> runs);

}  // namespace gradwire::report
