// Texts made safe for the place in the page where they stand. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "record/json_fwd.h"

namespace gradwire::report {

// Between tags, or between quotes in a tag. Bytes that are no UTF-8 are not looked at.
std::string html_text(std::string_view text);

// Inside <script type="application/json">: no text in it can end the element or begin a comment. A
// number that is not finite is null, and bytes that are no UTF-8 are the replacement character.
std::string script_json(const record::Json& document);

}  // namespace gradwire::report
