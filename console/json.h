// The JSON that commands print. Fields keep the order in which they are written.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "console/console.h"

namespace gradwire::console {

using Json = nlohmann::ordered_json;

// The document and a line feed, on stdout. A number that is not finite becomes null, and bytes of a
// path that are no UTF-8 become the replacement character.
void print_json(const Json& document, const Console& console);

}  // namespace gradwire::console
