// The JSON documents that commands print. Fields keep the order in which they are written.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "console/console.h"

namespace gradwire::console {

using Json = nlohmann::ordered_json;

// Prints the document and a line feed on out. A NaN or an infinity becomes null; bytes that are not
// UTF-8, as paths may have, become the replacement character.
void print_json(const Json& document, const Console& console);

}  // namespace gradwire::console
