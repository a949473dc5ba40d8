// What a method planned layer by layer, as records hold it.
#pragma once

#include <string>

#include "gradwire/method/plan_note.h"
#include "record/json_file.h"

namespace gradwire::record {

// {"reason", "bytes", "uniform_bytes", "error", "uniform_error", "planning_ms", "budget": {...},
// "layers": [{"name", "elements", "choice", "bits", "bytes", "error"}]}
Json to_json(const PlanNote& note);

// A line for people, from that.
std::string plan_line(const Json& plan);

}  // namespace gradwire::record
