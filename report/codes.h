// What a method that learns a code sent from step to step, as a page shows it. Pure functions.
#pragma once

#include <cstddef>

#include "record/json_file.h"
#include "report/page.h"

namespace gradwire::report {

// More columns than these do not fit beside each other.
inline constexpr std::size_t kCodeColumnsMax = 600;

// {"edges", "phase", "error", "bytes": [...], "parts": [{"name", "bytes": [...]}],
// "phases": [{"name", "steps", "bytes_per_step"}], "mean_error", "learn_ms"}
//
// Neighbouring steps make a column: its error and bytes, of each part and of all parts together,
// are their means; its phase, by its index, is that of most of them. Column i has the steps after
// edge i up to edge i + 1, so that there is one edge more. Steps of two phases share a column only
// where phases change too often for anything else. An error is null where no step has one. Null
// where no step has a note.
record::Json code_of(const Run& run);

}  // namespace gradwire::report
