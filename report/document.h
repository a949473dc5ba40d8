// Everything that a page shows, as one JSON document: the page's script formats and draws, and
// computes nothing. Pure function.
#pragma once

#include <span>

#include "record/json_fwd.h"
#include "report/page.h"

namespace gradwire::report {

// {"title", "facts", "runs", "columns", "axes", "charts", "parts", "bars", "notes"}. Lists inside
// columns, charts, bars and notes have one entry for each run.
record::Json make_document(std::span<const Run> runs);

}  // namespace gradwire::report
