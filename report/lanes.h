// The members of elastic runs, for the page: a lane for each member over the steps, and the changes
// of the membership. Pure functions.
#pragma once

#include <span>

#include "record/json_file.h"
#include "report/page.h"

namespace gradwire::report {

// For each run {"first", "last", "lanes", "changes"}, or null if it has no views. A lane is
// {"name", "address", "from", "to", "end"}, in the order in which members came; "end" says why it
// departed, and is empty if it was there to the last step. Throws Error for views that cannot be
// read.
record::Json lanes_of(std::span<const Run> runs);

}  // namespace gradwire::report
