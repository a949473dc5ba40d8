// page/page.html with its styles and scripts inside, as inline.mjs put it together when gradwire
// was built.
#pragma once

#include <string_view>

namespace gradwire::report {

// The page has these two once each.
inline constexpr std::string_view kTitlePlace = "@GRADWIRE_TITLE@";
inline constexpr std::string_view kDocumentPlace = "@GRADWIRE_DOCUMENT@";

std::string_view page_template();

}  // namespace gradwire::report
