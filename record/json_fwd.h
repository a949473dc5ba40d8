// The JSON type of records, for headers that only name it. Files that read or write JSON include
// record/json_file.h.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace gradwire::record {

using Json = nlohmann::ordered_json;  // fields keep the order in which they are written

}  // namespace gradwire::record
