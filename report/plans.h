// What a method chose layer by layer, as a page shows it. Pure functions.
#pragma once

#include <cstddef>

#include "record/json_file.h"

namespace gradwire::report {

// More do not fit beside each other.
inline constexpr std::size_t kPlansMax = 60;

// {"plans", "steps": [...], "mean_bits": [...], "layers": [{"name", "elements", "bits": [...],
// "choices": [...]}]}, with one value for each of the steps that are shown; "plans" counts those
// that there were. The mean is weighted by elements. Null where the plans hold no layer. What is
// missing in a plan is null.
record::Json plans_of(const record::Json& plans);

}  // namespace gradwire::report
